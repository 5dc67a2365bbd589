"""A wrapper finds out in its first call what it is passed, and sizes change with the second."""

import enum

import torch


class State(enum.Enum):
    UNINITIALIZED = 0


class Checked:
    def __init__(self, call):
        self.call = call
        self.types = State.UNINITIALIZED

    def __call__(self, **inputs):
        if self.types is State.UNINITIALIZED:
            self.types = dict.fromkeys(inputs, "tensor")
        return self.call(*(inputs[name] for name in self.types))


def scaled(signal):
    return signal / signal.amax(dim=-1, keepdim=True)


model = Checked(scaled)
# before:
# after:
# model(signal=torch.ones(4, 10))
# end
compiled = torch.compile(model.__call__, backend="eager")


def step(number):
    signal = torch.ones(4, 10 + number)
    # before:
    # after:
    # torch._dynamo.maybe_mark_dynamic(signal, 1)
    # end
    return compiled(signal=signal)
