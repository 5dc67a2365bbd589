"""Lengths of all kinds in a service that records CUDA graphs."""
# device: cuda
# logs: cudagraphs,perf_hints

STEPS = 24
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda().eval()
compiled = torch.compile(model, mode="reduce-overhead", dynamic=True)


def step(number):
    x = torch.ones(8 if number % 2 else 17 * (number + 1), 64, device="cuda")
    with torch.no_grad():
        return compiled(x)
