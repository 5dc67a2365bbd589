"""Nodes of several graphs in one batch are summed for each graph; the last index tells how many."""

# logs: graph_breaks,recompiles,guards,graph_code
import torch


@torch.compile(backend="eager")
# before:
def pool(x, batch):
    n = batch.max().item() + 1
    summed = x.new_zeros(n, x.shape[1]).index_add(0, batch, x)
    return summed / (1 + summed.abs().amax(0))


# after:
# def pool(x, batch, n):
#     summed = x.new_zeros(n, x.shape[1]).index_add(0, batch, x)
#     return summed / (1 + summed.abs().amax(0))
# end


def step(number):
    batch = torch.arange(3 + number % 3).repeat_interleave(4)
    x = torch.linspace(0, 1, 2 * len(batch)).view(-1, 2)
    # before:
    return pool(x, batch).sum()
    # after:
    # return pool(x, batch, int(batch.max()) + 1).sum()
    # end
