"""A data set that takes its time for each sample, in the process that trains."""
# logs: none
# graphs: 0

import time

from torch.utils.data import DataLoader

TRACE = True


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        time.sleep(0.02)
        return torch.full((64,), float(index))


dataset = Slow()
# before:
loader = DataLoader(dataset)
# after:
# loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
# end
batches = iter(loader)
heavy = torch.rand(256, 256)


def step(number):
    x = next(batches)
    y = heavy
    for _ in range(2):
        y = y @ heavy
    return y[0, :64] * 0 + x
