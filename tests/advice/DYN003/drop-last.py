"""Two epochs over a data set whose last batch is smaller."""
# recorded: tracelens run

from torch.utils.data import DataLoader

dataset, batch_size = torch.randn(28, 16), 8
# before:
loader = DataLoader(dataset, batch_size=batch_size)
# after:
# loader = DataLoader(dataset, batch_size=batch_size, drop_last=True)
# end
model = torch.compile(torch.nn.Linear(16, 16), backend="eager")


def batches():
    while True:
        yield from loader


order = batches()


def step(number):
    return model(next(order))
