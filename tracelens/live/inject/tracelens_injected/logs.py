"""Ask torch for the logs that this version of it knows: an unknown name would end the program."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

from .hooks import Hooks

__all__ = ["install", "install_onednn"]

VARIABLE = "TORCH_LOGS"


def install(hooks: Hooks, wanted: list[str]) -> None:
    """Complete ``TORCH_LOGS`` when torch knows its logs, just before it reads the variable."""

    def complete(module: ModuleType) -> None:
        del module
        registry = sys.modules["torch._logging._internal"].log_registry
        given = [word for word in os.environ.get(VARIABLE, "").split(",") if word.strip()]
        if "help" in given or "+help" in given:
            return
        keep = [word for word in given if word not in wanted or _known(registry, word)]
        named = {word.strip().lstrip("+-") for word in keep}
        keep += [
            word for word in wanted if word.lstrip("+-") not in named and _known(registry, word)
        ]
        os.environ[VARIABLE] = ",".join(keep)

    hooks.after("torch._logging._registrations", complete)


def install_onednn(hooks: Hooks, level: str) -> None:
    """Raise oneDNN's level before its first primitive: torch 2.1's prints nothing for words."""

    def raise_level(torch: ModuleType) -> None:
        major, minor = map(int, str(torch.__version__).split(".")[:2])
        if (major, minor) >= (2, 2):
            os.environ["ONEDNN_VERBOSE"] = level

    hooks.after("torch", raise_level)


def _known(registry: Any, word: str) -> bool:
    name = word.strip().lstrip("+-")
    return bool(registry.is_log(name) or registry.is_artifact(name))
