"""The result of the step before is read after the next one."""
# device: cuda
# logs: cudagraphs

import traceback

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda().eval()
model = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
last = None


@torch.no_grad()
def step(number):
    global last
    # before:
    y = model(x)
    # after:
    # y = model(x).clone()
    # end
    try:
        change = 0 if last is None else (y - last).abs().sum()
    except RuntimeError:
        traceback.print_exc()
    last = y
    return x
