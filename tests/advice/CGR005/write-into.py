"""A parameter whose data is replaced in each step."""
# device: cuda
# logs: +cudagraphs

STEPS = 24
model = torch.nn.Linear(64, 64).cuda().eval()
compiled = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
kept = []


def step(number):
    new = model.weight.data * 0.5 + 0.01
    kept.append(new)
    # before:
    model.weight.data = new
    # after:
    # model.weight.data.copy_(new)
    # end
    with torch.no_grad():
        return compiled(x)
