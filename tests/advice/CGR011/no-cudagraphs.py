"""A mode that tunes and asks for CUDA graphs, on a CPU."""
# recorded: tracelens run

model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU()).eval()
# before:
model = torch.compile(model, mode="max-autotune")
# after:
# model = torch.compile(model, mode="max-autotune-no-cudagraphs")
# end
x = torch.randn(8, 16)


def step(number):
    with torch.no_grad():
        return model(x)
