"""A sampler takes a gradient in each round of a compiled loop, by a function of its own."""
# adapted: the function has the program's name, and its gradient goes where it is used

import torch

torch.manual_seed(0)
weight = torch.randn(64, 64) / 8


def log_prob(q):
    return -((q @ weight).tanh().square().sum() + 0.5 * q.square().sum())


# before:
def gradient(q):
    q = q.detach().requires_grad_(True)
    value = log_prob(q)
    (g,) = torch.autograd.grad(value, q)
    return value.detach(), g


@torch.compile
def leapfrog(q, p):
    value, g = gradient(q)
    for _ in range(6):
        p = p + 0.05 * g
        q = q + 0.1 * p
        value, g = gradient(q)
        p = p + 0.05 * g
    return q, p, value


# after:
# value_and_grad = torch.compile(torch.func.grad_and_value(log_prob))
#
#
# def gradient(q):
#     g, value = value_and_grad(q)
#     return value, g
#
#
# def leapfrog(q, p):
#     value, g = gradient(q)
#     for _ in range(6):
#         p = p + 0.05 * g
#         q = q + 0.1 * p
#         value, g = gradient(q)
#         p = p + 0.05 * g
#     return q, p, value
#
#
# end
q, p = torch.randn(32, 64), torch.randn(32, 64)


def step(number):
    return leapfrog(q, p)
