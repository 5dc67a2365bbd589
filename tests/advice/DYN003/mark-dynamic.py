"""Two epochs over a data set whose last batch is smaller, and counts."""
# recorded: tracelens run
# adapted: `input` is what the layer calls its argument; the program calls it `batch`

from torch.utils.data import DataLoader

loader = DataLoader(torch.randn(28, 16), batch_size=8)
model = torch.compile(torch.nn.Linear(16, 16), backend="eager")


def batches():
    while True:
        yield from loader


order = batches()


def step(number):
    batch = next(order)
    # before:
    # after:
    # torch._dynamo.maybe_mark_dynamic(batch, 0)
    # end
    return model(batch)
