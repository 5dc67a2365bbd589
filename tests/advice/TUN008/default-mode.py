"""Linear layers in training: their weights are never constants."""
# logs: output_code

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
# before:
model = torch.compile(model, mode="max-autotune-no-cudagraphs")
# after:
# model = torch.compile(model)
# end
x = torch.randn(64, 256)


def step(number):
    y = model(x)
    y.sum().backward()
    return y
