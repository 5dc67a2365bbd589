"""Give compiled modules, and the images they are called with, another memory format."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from .hooks import Hooks
from .journal import Journal

__all__ = ["Layout"]


class Layout:
    """``channels_last``: modules are converted in place when they are compiled.

    Tensors of four dimensions that a compiled callable is called with are converted in each call,
    which counts as part of the step.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._format: Any = None
        self._converted = False

    def install(self, hooks: Hooks, journal: Journal | None) -> None:
        """Replace ``torch.compile`` as soon as it is there."""

        def patch(torch: ModuleType) -> None:
            self._format = getattr(torch, self.name)
            compile_ = torch.compile

            @functools.wraps(compile_)
            def compile_with(model: Any = None, **given: Any) -> Any:
                self._convert(torch, model)
                return compile_(model, **given)

            vars(torch)["compile"] = compile_with

        def report() -> None:
            if journal is not None and not self._converted:
                journal.tell(
                    note="model.to(memory_format=): no compiled module has 4-dimensional weights"
                )

        hooks.after("torch", patch)
        if journal is not None:
            journal.at_end.append(report)

    def prepared(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the arguments of a call, images converted."""
        if not self._converted:
            return args, kwargs
        return (
            tuple(self._last(value) for value in args),
            {name: self._last(value) for name, value in kwargs.items()},
        )

    def _convert(self, torch: ModuleType, model: Any) -> None:
        # ``nn.Module.compile`` compiles a bound method.
        module = getattr(model, "__self__", model)
        try:
            if isinstance(module, torch.nn.Module):
                module.to(memory_format=self._format)
                self._converted |= any(weight.dim() == 4 for weight in module.parameters())
        except Exception:
            return

    def _last(self, value: Any) -> Any:
        is_image = getattr(value, "dim", None) is not None and hasattr(value, "contiguous")
        if is_image and value.dim() == 4:
            return value.contiguous(memory_format=self._format)
        return value
