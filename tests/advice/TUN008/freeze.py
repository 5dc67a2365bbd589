"""Linear layers beside products that are tuned, not frozen."""
# logs: output_code

into, out = torch.nn.Linear(256, 256).eval(), torch.nn.Linear(256, 256).eval()
x = torch.randn(2, 64, 256)


def attend(x):
    y = into(x)
    return out(torch.softmax(y @ y.transpose(-1, -2) * 3.0, dim=-1).tanh() @ y)


model = torch.compile(attend, mode="max-autotune-no-cudagraphs")


def step(number):
    with torch.no_grad():
        return model(x)
