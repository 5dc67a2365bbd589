"""The model is compiled, and the sampling is not."""
# logs: none

TRACE = True
model = torch.compile(torch.nn.Linear(128, 128).eval(), backend="eager")
x = torch.rand(1, 128)


def sample():
    with torch.no_grad():
        y = x
        for _ in range(4):
            y = torch.softmax(model(y) / 0.7, -1)
            top = torch.sort(y, descending=True).values.cumsum(-1)
            y = torch.where(top > 0.9, torch.zeros_like(y), y) + 0.5
    return y


def step(number):
    return sample()


# before:
# after:
# step = torch.compile(step)
# end
