"""Objects that number themselves by an ``itertools.count``, made in compiled code."""

import itertools


class Item:
    numbers = itertools.count()

    def __init__(self, value):
        self.number = next(Item.numbers)
        self.value = value


def solve(x):
    return sum(item.value for item in [Item(x + n) for n in range(2)])


# before:
# after:
# solve = torch.compiler.disable(solve)
# end


@torch.compile(backend="aot_eager")
def forward(x):
    return torch.relu(solve(x * 2)) + 1


def step(number):
    return forward(torch.ones(4))
