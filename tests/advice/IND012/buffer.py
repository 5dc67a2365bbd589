"""A table of a module that is a plain attribute stays on the CPU."""
# device: cuda
# logs: output_code


class Positions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)
        # before:
        self.table = torch.rand(4096, 64)
        # after:
        # self.register_buffer("table", torch.rand(4096, 64))
        # end

    def forward(self, x):
        return self.linear(x + self.table.to(x.device))


torch.manual_seed(0)
model = torch.compile(Positions().cuda())
x = torch.randn(4096, 64, device="cuda")


def step(number):
    with torch.no_grad():
        return model(x)
