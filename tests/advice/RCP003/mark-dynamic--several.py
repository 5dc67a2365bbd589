"""Nine functions of two tensors of one size, each compiled again at the first change of it."""

# logs: recompiles,guards
import torch

functions = []
for number in range(9):
    names = {}
    exec(f"def part{number}(x, y):\n    return x * {number + 2} + y", names)
    functions.append(torch.compile(names[f"part{number}"], backend="eager"))


def step(number):
    x, y = torch.ones(4 + number % 3, 3), torch.ones(4 + number % 3, 3)
    # before:
    # after:
    # torch._dynamo.maybe_mark_dynamic(x, 0)
    # torch._dynamo.maybe_mark_dynamic(y, 0)
    # end
    return sum(function(x, y) for function in functions)
