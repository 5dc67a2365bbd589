"""Give the program's optimizers other arguments: the learning rate as a tensor, ``fused=True``."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import Any

from .hooks import Hooks
from .journal import Journal

__all__ = ["install"]

#: What stands for the value that the program gives, in a tensor.
TENSOR = "tensor"


def install(hooks: Hooks, arguments: dict[str, Any], journal: Journal | None) -> None:
    """Replace arguments of every optimizer of torch's that has them."""
    made: list[str] = []

    def patch(module: ModuleType) -> None:
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind.__name__ != "Optimizer":
                _wrap(kind, arguments, journal, made)

    def report() -> None:
        if journal is not None and not made:
            for name in arguments:
                journal.tell(note=f"torch.optim({name}=): the program makes no such optimizer")

    hooks.after("torch.optim", patch)
    if journal is not None:
        journal.at_end.append(report)


def _wrap(kind: Any, arguments: dict[str, Any], journal: Journal | None, made: list[str]) -> None:
    original = kind.__init__
    try:
        signature = inspect.signature(original)
    except (TypeError, ValueError):
        return
    known = [name for name in arguments if name in signature.parameters]
    if not known:
        return

    @functools.wraps(original)
    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name in known:
            value = arguments[name]
            bound.arguments[name] = _tensor(bound.arguments[name]) if value == TENSOR else value
            if journal is not None and name not in made:
                made.append(name)
                journal.tell(force=[f"torch.optim({name}=)", True, repr(value)])
        original(*bound.args, **bound.kwargs)

    kind.__init__ = begin


def _tensor(value: Any) -> Any:
    torch = sys.modules["torch"]
    return torch.tensor(value) if isinstance(value, (int, float)) else value
