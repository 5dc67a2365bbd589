"""Compiled convolutions with groups, in the default layout."""
# logs: output_code
# env: ONEDNN_VERBOSE=1

layers = [torch.nn.Conv2d(48, 48, 3, padding=1, groups=4) for _ in range(4)]
model = torch.compile(torch.nn.Sequential(*layers).eval())
x = torch.randn(2, 48, 32, 32)


def step(number):
    with torch.no_grad():
        return model(x)
