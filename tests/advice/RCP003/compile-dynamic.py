"""Three functions of a number, each compiled again at its first change, which takes long."""

# adapted: the backend is named, too
import time

import torch


def slow(graph, inputs):
    """Stand for a backend that takes seconds for code with symbols."""
    symbolic = any(isinstance(one, torch.SymInt) for one in inputs)
    time.sleep(2.0 if symbolic else 0.1)
    return graph.forward


functions = []
for number in range(3):
    names = {}
    exec(f"def part{number}(x, n):\n    return x[:n] * {number + 2}", names)
    model = names[f"part{number}"]
    # before:
    model = torch.compile(model, backend=slow)
    # after:
    # model = torch.compile(model, dynamic=True, backend=slow)
    # end
    functions.append(model)


def step(number):
    x = torch.ones(9, 3)
    return sum(function(x, 4 + number % 3).sum() for function in functions)
