"""What to do where a tensor with data came among those without, with which torch traces."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["REAL_TENSORS", "is_real"]

#: How torch shows that the tensor with data is a parameter.
_PARAMETER = re.compile(r"Found in [\w.]{1,80}\(\*?\(?\s*Parameter\s+containing")


def is_real(data: FailureData) -> bool:
    """Tell whether a tensor with data came among those without."""
    return "to FakeTensors first" in data.message


def _is_parameter(data: FailureData) -> bool:
    """Tell whether it is a parameter that tracing did not make one without data."""
    return is_real(data) and _PARAMETER.search(data.message) is not None


REAL_TENSORS = (
    Remedy(
        "compile-first",
        "It is a parameter that was not made fake, as in torch 2.0 where something had wrapped or"
        " cast its module: take a newer torch, and compile before that is done (accelerate, peft,"
        " an offloader), or only the part of the model without it.",
        code="model = torch.compile(model)  # then accelerator.prepare(model)",
        applies=_is_parameter,
        when="the real tensor is a parameter",
        basis="untestable",
        proof="it is about the program, and about old releases",
    ),
    Remedy(
        "own",
        "A tensor that is no input, parameter or buffer of what is compiled is used in it: a"
        " global, a constant of a closure, an attribute that was never registered, or one made"
        " by a hook. Register it as a buffer (`register_buffer(name, tensor, persistent=False)`),"
        " or pass it in.",
        applies=lambda d: is_real(d) and not _is_parameter(d),
        when="a real tensor among fake ones that is no parameter",
        basis="untestable",
        proof="it is about the program",
    ),
    Remedy(
        "mode",
        "In a backend, a pass or an operator of one's own: run the graph in the mode that its"
        " inputs are fake in, and make new tensors there.",
        code="with torch._guards.detect_fake_mode(example_inputs): module(*example_inputs)",
        applies=is_real,
        since="2.1",
        when="a real tensor among fake ones, in an extension",
        basis="untestable",
        proof="it is about an extension",
    ),
    Remedy(
        "newer-torch",
        "Where neither is so, it is a bug of torch or of the package whose tensors they are"
        " (quantized ones, most of all): try a newer one, and leave that function out.",
        code="python -m pip install -U torch",
        applies=is_real,
        when="a real tensor among fake ones, of a package",
        basis="untestable",
        proof="it depends on the release",
    ),
)
