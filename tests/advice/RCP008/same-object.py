"""A new object of the same kind in every call."""

import torch


class Plan:
    def __call__(self, x):
        return x * 2


@torch.compile(backend="eager")
def run(x, plan):
    return plan(x) if plan is KEPT or plan is not None else x


def work(x):
    return x * 2


functions = [eval("lambda x: x * 2") for _ in range(5)]
KEPT = functions[0]
x = torch.ones(8)


def step(number):
    # before:
    return run(x, functions[number % 5])
    # after:
    # return run(x, KEPT)
    # end
