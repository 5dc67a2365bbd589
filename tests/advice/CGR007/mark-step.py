"""Losses are kept for a log, with everything that their backward pass would need."""
# device: cuda
# logs: cudagraphs

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
model = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
losses = []


def step(number):
    # before:
    # after:
    # torch.compiler.cudagraph_mark_step_begin()
    # end
    losses.append(model(x).mean())
    del losses[:-8]
    return x
