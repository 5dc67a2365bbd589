"""Python text made of numbers and of names from our own lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["DTYPES", "FLOATS", "WITHOUT_ONEDNN", "Code", "Variant", "numbers", "program", "tensor"]

#: oneDNN's names of data types -> torch's.
DTYPES = {
    "f64": "torch.float64",
    "f32": "torch.float32",
    "f16": "torch.float16",
    "bf16": "torch.bfloat16",
    "s32": "torch.int32",
    "s8": "torch.int8",
    "u8": "torch.uint8",
    "f8_e4m3": "torch.float8_e4m3fn",
    "f8_e5m2": "torch.float8_e5m2",
}
FLOATS = frozenset({"f64", "f32", "f16", "bf16"})
#: The context in which torch uses its own kernels.
WITHOUT_ONEDNN = "torch.backends.mkldnn.flags(enabled=False)"
#: The range that random integers are drawn from, the end left out.
_RANGES = {"s8": (-100, 100), "u8": (28, 228), "s32": (-100, 100)}


class Variant(StrEnum):
    """What the second program does differently."""

    RECORDED = "as recorded"
    FLOAT32 = "float32 instead"
    UNSIGNED = "unsigned int8 activations"
    PACKED = "weights packed once"
    PLAIN = "weights as the program has them"
    CHANNELS_LAST = "channels-last layout"
    ONCE = "converted once, before the loop"
    WITHOUT = "without oneDNN"


@dataclass(frozen=True)
class Code:
    """What a program computes: lines of set-up, the expression of a step and of its reference."""

    lines: tuple[str, ...]
    step: str
    #: The same in double precision; empty where there is nothing to compare.
    reference: str = ""
    #: Lines of the step before the expression.
    before: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def tensor(name: str, shape: Iterable[int], dtype: str, *, layout: str = "") -> str:
    """Return the line that makes a random tensor of oneDNN's ``dtype``.

    ``layout`` is a memory format of torch's: ``channels_last``.
    """
    sizes = tuple(map(int, shape))
    kind = DTYPES[dtype]
    if dtype in _RANGES:
        low, high = _RANGES[dtype]
        text = f"torch.randint({low}, {high}, {sizes}, dtype={kind})"
    elif dtype in FLOATS:
        text = f"torch.randn({sizes}, dtype={kind})"
    else:
        text = f"torch.randn({sizes}).to({kind})"
    if layout:
        text += f".to(memory_format=torch.{layout})"
    return f"{name} = {text}"


def numbers(values: Iterable[int]) -> str:
    """Return a Python list of integers."""
    return repr([int(value) for value in values])


def program(title: str, code: Code) -> str:
    """Return a module whose ``setup()`` returns the step."""
    body = ["torch.manual_seed(0)", *code.lines, "", "def step():", *_inner(code.before, code.step)]
    if code.reference:
        body += ["", "def reference():", *_inner((), code.reference)]
        body += ["", "step.reference = reference"]
    body.append("return step")
    text = "\n".join(f"    {line}" if line else "" for line in body)
    return f'"""{title}"""\n\nimport torch\n\n\ndef setup():\n{text}\n'


def _inner(lines: Iterable[str], result: str) -> list[str]:
    return [*(f"    {line}" for line in lines), f"    return {result}"]
