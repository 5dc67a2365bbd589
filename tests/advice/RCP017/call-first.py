"""A library that notes its backends in a global of its own when it is called first."""

import sys
from pathlib import Path

Path(OUT, "backends.py").write_text(
    "FOUND = {'list': 0}\n\n\ndef double(x):\n"
    "    if len(FOUND) < 2:\n        FOUND['tensor'] = 1\n    return x * 2\n"
)
sys.path.insert(0, OUT)
import backends


def model(x):
    return backends.double(x) + 1


x = torch.rand(8)
# before:
# after:
# model(x)
# end
model = torch.compile(model, backend="eager")


def step(number):
    return model(x)
