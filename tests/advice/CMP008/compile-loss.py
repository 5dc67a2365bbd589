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

    def loss(self, x):
        return (self(x) - x).square().mean()


net = Net()
model = torch.compile(net)
loss_fn = net.loss
# before:
# after:
# loss_fn = torch.compile(loss_fn)  # such as model.loss, of the plain model
# end
with torch.no_grad():
    model(torch.ones(2, 3, 24, 24))


def step(number):
    loss = loss_fn(torch.ones(2, 3, 24, 24))
    loss.backward()
    return loss.detach()
