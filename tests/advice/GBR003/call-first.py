"""A loss with the divergence of two distributions."""

import torch
from torch.distributions import Normal, kl_divergence


def divergence(mean, scale):
    prior = Normal(torch.zeros_like(mean), torch.ones_like(scale))
    return kl_divergence(Normal(mean, scale), prior).mean()


x = torch.ones(8)
# before:
model = torch.compile(divergence, backend="eager")
# after:
# divergence(x, x)
# model = torch.compile(divergence, backend="eager")
# end


def step(number):
    return model(x * number, x)
