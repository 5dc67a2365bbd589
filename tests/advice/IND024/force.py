"""Grouped convolutions whose layout a rule of thumb leaves alone; without oneDNN."""
# logs: +inductor

conv = torch.nn.Conv2d(32, 128, 3, groups=4)
x = torch.rand(2, 32, 16, 16)
torch.backends.mkldnn.enabled = False
model = torch.compile(conv)


def step(number):
    y = model(x)
    y.sum().backward()
    return y
