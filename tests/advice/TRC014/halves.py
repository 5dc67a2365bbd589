"""Weights that autocast converts for each call, without a backward pass."""
# logs: none
# graphs: 0
# expect: faster
# results: differ: by what bfloat16 leaves of the weights

TRACE = True
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).requires_grad_(False)
# before:
# after:
# model.to(torch.bfloat16)
# end
x = torch.rand(8, 512)


def step(number):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(x)
