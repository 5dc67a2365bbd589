"""A validation loop that records what a backward pass would need."""
# device: cuda
# logs: cudagraphs

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
model = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
kept = []


def step(number):
    # before:
    y = model(x)
    # after:
    # with torch.no_grad(): y = model(x)
    # end
    kept.append(y)
    del kept[:-2]
    return x
