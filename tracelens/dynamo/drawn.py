"""Lines that draw a random number, which is a tensor in compiled code."""

from __future__ import annotations

import re

__all__ = ["drawn_by"]

#: Functions of Python's generator whose numbers Dynamo makes inputs of the graph.
_PYTHON = re.compile(r"(?<![\w.])random\.(?:random|randint|randrange|uniform)\(")
#: NumPy's generator, whose calls Dynamo traces as operators that make a tensor.
_NUMPY = re.compile(r"\b(?:np|numpy)\.random\.[a-z_]{1,40}\(")


def drawn_by(code: str) -> str:
    """Return whose generator draws a number in a line, ``Python`` or ``NumPy``; else nothing."""
    return "Python" if _PYTHON.search(code) else "NumPy" if _NUMPY.search(code) else ""
