# logs: output_code
# env: ONEDNN_VERBOSE=1
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 3, 3, padding=1),
        )

    def forward(self, x):
        return self.layers(x)

    def fit(self, x):
        return (self(x) - x).square().mean()


model = Net()
# before:
model = torch.compile(model)
# after:
# model.compile()  # instead of model = torch.compile(model)
# end
with torch.no_grad():
    model(torch.ones(2, 3, 24, 24))


def step(number):
    loss = model.fit(torch.ones(2, 3, 24, 24))
    loss.backward()
    return loss.detach()
