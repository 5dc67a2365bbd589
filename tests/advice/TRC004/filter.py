"""A compiled module with many guards and little work."""
# logs: none
# expect: faster
# adapted: a line is too long

TRACE = True


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Identity() for _ in range(600))

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x * 2


model = Model()
# before:
model = torch.compile(model, backend="eager")
# after:
# guards = torch.compiler.skip_guard_on_all_nn_modules_unsafe
# model = torch.compile(model, backend="eager", options={"guard_filter_fn": guards})
# end
x = torch.rand(64, 64)


def step(number):
    return model(x)
