"""Several calls make one step of inference: the results of all of them are read at its end."""
# device: cuda
# logs: cudagraphs

import traceback

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda().eval()
compiled = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")


@torch.no_grad()
def step(number):
    # before:
    # after:
    # torch.compiler.cudagraph_mark_step_begin()
    # end
    one = compiled(x)
    two = compiled(x + 1)
    try:
        one.sum() + two.sum()
    except RuntimeError:
        traceback.print_exc()
    return x
