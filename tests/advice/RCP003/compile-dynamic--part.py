"""Three functions of an object whose tensor changes its size: compiled again, which takes long."""

# logs: recompiles,guards
# adapted: the backend is named, too
import time

import torch


class Batch:
    def __init__(self, size):
        self.x = torch.ones(size, 3)


def slow(graph, inputs):
    """Stand for a backend that takes seconds for code with symbols."""
    symbolic = any(isinstance(one, torch.SymInt) for one in inputs)
    time.sleep(2.0 if symbolic else 0.1)
    return graph.forward


functions = []
for number in range(3):
    names = {}
    exec(f"def part{number}(batch):\n    return batch.x * {number + 2}", names)
    model = names[f"part{number}"]
    # before:
    model = torch.compile(model, backend=slow)
    # after:
    # model = torch.compile(model, dynamic=True, backend=slow)
    # end
    functions.append(model)


def step(number):
    batch = Batch(4 + number % 3)
    return sum(function(batch) for function in functions)
