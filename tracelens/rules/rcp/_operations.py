"""Operations that take a number of Python, and what a line does instead to have a symbol."""

from __future__ import annotations

import re

from tracelens.rules.rcp._data import RecompileData

__all__ = ["FloatData", "computes_in_python", "takes_tensor", "written_out"]

#: Python's and NumPy's own functions, which need the number itself.
_PYTHON = re.compile(r"\b(?:math|np|numpy)\.\w|\b(?:int|round)\(")
#: Operations that take a 0-d tensor in place of the number. Tried: no graph break, one entry.
_TENSOR = (
    r"\b(?:clamp|clamp_min|clamp_max|clip|pow|lerp|masked_fill|where|full|quantile|linspace|fill_)"
    r"\((?:[^()]|\([^()]{{0,80}}\)){{0,200}}?(?<![\w.]){0}\b|\*\* ?{0}\b"
)
#: What an operation is, with the number as a factor. Tried: one entry for all numbers.
_WRITTEN = {
    r"\balpha=": "p - {} * g",
    r"\bleaky_relu\(": "torch.where(x > 0, x, {} * x)",
    r"\belu\(": "torch.where(x > 0, x, {} * torch.expm1(x))",
    r"\baddcmul_?\(": "p + {} * a * b",
    r"\baddcdiv_?\(": "p + {} * a / b",
    r"\bfull_like\(": "torch.ones_like(x) * {}",
}


class FloatData(RecompileData):
    """A float, and what is computed with it."""

    #: Whether a tensor that the function is given has double precision.
    is_double: bool = False
    #: The lines of the function that name it, where the log has the traced graph.
    lines: tuple[str, ...] = ()


def _lines(data: RecompileData) -> tuple[str, ...]:
    return (data.code, *(data.lines if isinstance(data, FloatData) else ()))


def computes_in_python(data: RecompileData) -> bool:
    """Whether Python computes with it in a line, as ``math.exp(-beta)`` does."""
    return any(map(_PYTHON.search, _lines(data)))


def takes_tensor(data: RecompileData) -> bool:
    """Whether the operation takes a tensor as well, as ``clamp`` does, and none takes it alone."""
    found = any(re.search(_TENSOR.format(re.escape(data.source)), line) for line in _lines(data))
    return found and not (computes_in_python(data) or written_out(data))


def written_out(data: RecompileData) -> str:
    """Return the operation with the number as a factor; empty where none is known."""
    lines = _lines(data)
    for name, code in _WRITTEN.items():
        if any(re.search(name, line) for line in lines):
            return code.format(data.source)
    return ""
