# recorded: tracelens run
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def encode(self, x):
        return self.linear(x).relu()


model = Net()
# before:
model = torch.compile(model)
# after:
# model.encode = torch.compile(model.encode)
# end


def step(number):
    return model.encode(torch.ones(2, 8))
