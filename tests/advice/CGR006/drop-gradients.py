"""Gradients of the step before stay where the next one is recorded."""
# device: cuda
# logs: cudagraphs

import traceback

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
compiled = torch.compile(model, mode="reduce-overhead")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(32, 64, device="cuda")


def step(number):
    try:
        # before:
        # after:
        # optimizer.zero_grad(set_to_none=True)
        # end
        compiled(x).mean().backward()
    except RuntimeError:
        traceback.print_exc()
    return x
