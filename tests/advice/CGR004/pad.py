"""Lengths of all kinds in a service that records CUDA graphs."""
# device: cuda
# logs: cudagraphs,perf_hints
# adapted: the sizes are those of this program
# results: differ, what is added is computed too

STEPS = 24
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda().eval()
compiled = torch.compile(model, mode="reduce-overhead", dynamic=True)


def step(number):
    x = torch.randn(17 * (number + 1), 64, device="cuda")
    # before:
    # after:
    # x = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[0] % 256))
    # end
    with torch.no_grad():
        return compiled(x)
