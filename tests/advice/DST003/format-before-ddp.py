"""The memory format of a model is converted after DistributedDataParallel was constructed."""
# graphs: 0

import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
model = torch.nn.Conv2d(32, 64, 3)
x = torch.randn(4, 32, 8, 8)
# before:
model = torch.nn.parallel.DistributedDataParallel(model)
model = model.to(memory_format=torch.channels_last)
# after:
# model = model.to(memory_format=torch.channels_last)
# model = torch.nn.parallel.DistributedDataParallel(model)
# end
STEPS = 3


def step(number):
    loss = model(x).square().sum()
    loss.backward()
    model.zero_grad()
    return loss.detach()
