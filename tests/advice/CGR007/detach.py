"""Losses are kept for a log, with everything that their backward pass would need."""
# device: cuda
# logs: cudagraphs

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
model = torch.compile(model, mode="reduce-overhead")
x = torch.randn(32, 64, device="cuda")
losses = []


def step(number):
    loss = model(x).mean()
    # before:
    losses.append(loss)
    # after:
    # losses.append(loss.detach())
    # end
    del losses[:-8]
    return x
