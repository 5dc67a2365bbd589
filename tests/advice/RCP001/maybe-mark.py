"""A framework compiles with dynamic=False, and batches have ten lengths."""

# logs: graph_breaks
import torch


@torch.compile(backend="eager", dynamic=False)
def forward(input_ids):
    return (input_ids * 2).sum()


def step(number):
    told = []
    for size in range(20, 30):
        input_ids = torch.ones(2, size)
        # before:
        # after:
        # torch._dynamo.maybe_mark_dynamic(input_ids, 1)
        # end
        told.append(forward(input_ids))
    return told
