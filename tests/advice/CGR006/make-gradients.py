"""Gradients of several batches are added up, under CUDA graphs."""
# device: cuda
# logs: cudagraphs

import traceback

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
compiled = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
# before:
# after:
# for p in model.parameters(): p.grad = torch.zeros_like(p)
# end


def step(number):
    try:
        compiled(x).mean().backward()
        compiled(x + 1).mean().backward()
    except RuntimeError:
        traceback.print_exc()
    return x
