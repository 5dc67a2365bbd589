"""A layer with an activation, not frozen."""
# logs: output_code

model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU()).eval()
model = torch.compile(model)
x = torch.randn(128, 512)


def step(number):
    with torch.no_grad():
        return model(x)
