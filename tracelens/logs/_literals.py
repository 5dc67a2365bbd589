"""Texts that Python printed as literals."""

from __future__ import annotations

import ast
import warnings
from typing import Annotated

from pydantic import BeforeValidator

__all__ = ["Evaluated", "evaluated"]


def evaluated(text: str) -> str:
    r"""Return the text that the literal ``text`` stands for, or ``text`` where it is none.

    What a log quotes may hold ``\d`` and the like, of which Python warns.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(ast.literal_eval(text))
        except (ValueError, SyntaxError):
            return text


#: A text that the grammar gives as Python printed it.
Evaluated = Annotated[str, BeforeValidator(evaluated)]
