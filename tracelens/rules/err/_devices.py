"""Which argument of an operation lies on the CPU beside others on a GPU, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["OFFLOADED", "weight_on_cpu"]

_DIFFER = re.compile(r"different devices|same device")
_OPERATION = re.compile(r"(?:call_function|built-in (?:method|function)) (?:torch\.)?(\w{1,60})")
#: An argument without data: where it is on the CPU, torch prints no device.
_FAKE = re.compile(r"(?:FakeTensor|Parameter\(FakeTensor)\(\.\.\.(?P<said>(?:\([^()]*\)|[^()])*)\)")
_DEVICE = re.compile(r"device='(cuda|xpu|mps|hpu)(?::\d{1,3})?'")
_SIZE = re.compile(r"size=\(([^()]{1,80})\)")
#: Operations whose second tensor, and third, are a layer's.
_LAYERS = frozenset(
    {"linear", "conv1d", "conv2d", "conv3d", "_int_mm", "_scaled_mm", "int_scaled_matmul"}
)
#: Names of weights, and what loads models in parts.
_WEIGHT = re.compile(
    r"(?i)(?:^|[._])(?:w|weights?|bias|qweight|w_?q|wq?_\w{1,8}|scales?)(?:$|[._\d])"
)
_OFFLOADS = re.compile(r"(?i)comfyui|offload|lowvram|[/\\]accelerate[/\\]")


class _Apart(NamedTuple):
    """The argument on the CPU, and one that is not: how the line of the program calls them."""

    name: str
    other: str
    size: str


def weight_on_cpu(data: FailureData) -> _Apart | None:
    """Return the weight that lies on the CPU; None where it is none, or nothing tells."""
    if not _DIFFER.search(data.message):
        return None
    said = [one["said"] for one in _FAKE.finditer(data.message)]
    left = [at for at, one in enumerate(said) if "device=" not in one]
    there = [at for at, one in enumerate(said) if _DEVICE.search(one)]
    if len(left) != 1 or not there:
        return None
    at, code = left[0], data.stack[-1].code if data.stack else ""
    names = _arguments(code, _operation(data))
    name = names[at] if at < len(names) else ""
    files = " ".join((data.file, *(one.file for one in data.stack)))
    of_layer = at > 0 and _operation(data) in _LAYERS
    if not (of_layer or _WEIGHT.search(name) or (at > 0 and _OFFLOADS.search(files))):
        return None
    other = names[there[0]] if there[0] < len(names) else ""
    size = _SIZE.search(said[at])
    return _Apart(name, other, size[1] if size else "")


def _operation(data: FailureData) -> str:
    found = _OPERATION.search(data.message)
    return found[1] if found else ""


def _arguments(code: str, operation: str) -> list[str]:
    """Return the names that a line passes on: ``x`` and ``self.weight`` of a call without more."""
    found = re.search(rf"\b{re.escape(operation)}\(([\w.,\s]{{1,200}})[),]", code)
    return [one.strip() for one in found[1].split(",")] if operation and found else []


def _text(data: FailureData) -> str:
    weight = weight_on_cpu(data)
    if weight is None:  # the page that lists all advice
        return "A weight is on the CPU: keep the model on the GPU whole."
    name = f"`{weight.name}`" if weight.name else "The weight"
    size = f", of size ({weight.size})," if weight.size else ""
    return (
        f"{name}{size} is on the CPU, and what comes in is not: the weight is offloaded, or was "
        "never moved. Load the model wholly on the GPU (no offloading, no low-memory mode), or let "
        "the layer move the weight to where its input is."
    )


def _code(data: FailureData) -> str | None:
    weight = weight_on_cpu(data)
    if weight is None or not weight.name or not weight.other:
        return "weight = weight.to(x.device)"
    return f"{weight.name} = {weight.name}.to({weight.other}.device)"


OFFLOADED = Remedy(
    "offloaded",
    _text,
    code=_code,
    applies=lambda data: weight_on_cpu(data) is not None,
    when="a weight on the CPU, as offloading leaves it, meets an input on a GPU",
    basis="untestable",
    proof="needs two devices",
)
