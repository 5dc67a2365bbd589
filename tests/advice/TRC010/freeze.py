"""Convolutions with normalization and activation behind each, run eagerly."""
# logs: none
# expect: faster

TRACE = True
torch.manual_seed(0)
layers = []
for channels in (3, 32, 32, 32):
    layers += [torch.nn.Conv2d(channels, 32, 3), torch.nn.BatchNorm2d(32), torch.nn.ReLU()]
model = torch.nn.Sequential(*layers).eval()
x = torch.randn(4, 3, 64, 64)
# before:
# after:
# torch._inductor.config.freezing = True; model = torch.compile(model)
# end


def step(number):
    with torch.no_grad():
        return model(x)
