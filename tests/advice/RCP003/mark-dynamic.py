"""Nine functions, each compiled again at the first change of a size."""

import torch

functions = []
for number in range(9):
    names = {}
    exec(f"def part{number}(x):\n    return x * {number + 2}", names)
    functions.append(torch.compile(names[f"part{number}"], backend="eager"))


def step(number):
    x = torch.ones(4 + number % 3, 3)
    # before:
    # after:
    # torch._dynamo.maybe_mark_dynamic(x, 0)
    # end
    return sum(function(x) for function in functions)
