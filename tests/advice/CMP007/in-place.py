# recorded: tracelens run
# adapted: the wrapper's own name for the module stands for `model`
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x).relu()


class Pipeline(torch.nn.Module):
    """Registers what is assigned, and its property goes on returning the module it was given."""

    def __init__(self, net):
        super().__init__()
        self.kept = [net]

    @property
    def net(self):
        return self.kept[0]

    def forward(self, x):
        return self.net.forward(x)


pipeline = Pipeline(Net())
# before:
pipeline.net = torch.compile(pipeline.net)
# after:
# pipeline.net.forward = torch.compile(pipeline.net.forward)
# end


def step(number):
    return pipeline(torch.ones(2, 8))
