"""Settings by environment: ``TRACELENS_FAIL_ON=warning`` is ``--fail-on warning``."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tracelens.cli._terminal import say
from tracelens.context import Context
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.config import Config

__all__ = [
    "PREFIX",
    "annotations_compiled_once",
    "laid_over",
    "pack_seconds",
    "without_plugins_of_pydantic",
]

PREFIX = "TRACELENS_"
PACK_SECONDS = f"{PREFIX}PACK_SECONDS"
#: Settings that are more than a word or a list of words: they belong into a file.
TABLES = {"ignores", "severity", "budgets", "extends"}
#: Options that are no settings, though one could take them for such. Others of a script's own, such
#: as ``TRACELENS_ROOT``, are its own business.
OPTIONS = {"FORMAT", "OUTPUT", "QUIET", "VERBOSE"}
#: How alike a name is to a setting's that is a misspelt one.
ALIKE = 0.8
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def laid_over(config: Config) -> Config:
    """Return the project's settings with those of the environment laid over them.

    Lists are separated by commas. What is empty says nothing. What looks like a setting and is none
    is told on standard error.

    Raises:
        UsageError: A value is not one that the setting takes.
    """
    from tracelens.config import Config

    _tell_of_no_settings({field.upper() for field in Config.model_fields})
    options: dict[str, Any] = {}
    for field in sorted(Config.model_fields.keys() - TABLES):
        variable = PREFIX + field.upper()
        text = os.environ.get(variable, "").strip()
        if text:
            options[field.replace("_", "-")] = _value(variable, field, text)
    try:
        return config.updated(options) if options else config
    except UsageError as error:
        names = ", ".join(f"{PREFIX}{name.upper().replace('-', '_')}" for name in options)
        raise UsageError(f"environment ({names}): {error}", hint=error.hint) from error


def pack_seconds() -> float:
    """Return how many seconds the code of a pack may take where it is called."""
    text = os.environ.get(PACK_SECONDS, "").strip()
    try:
        seconds = float(text or Context.pack_seconds)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{PACK_SECONDS}={text}: not a number of seconds")
    return seconds


class _NoPlugins(ModuleType):
    """Stands for the module in which pydantic looks for plugins.

    It imports ``importlib.metadata``, also where no plugin is wanted: a twentieth of what a small
    log takes. Whatever else is asked of it, the module itself answers.
    """

    @staticmethod
    def get_plugins() -> tuple[()]:
        """Return no plugin."""
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def without_plugins_of_pydantic() -> Iterator[None]:
    """Let no plugin of pydantic's look at our models: to look for one opens every package."""
    name, module = "PYDANTIC_DISABLE_PLUGINS", "pydantic.plugin._loader"
    given = name in os.environ
    os.environ.setdefault(name, "__all__")
    if os.environ[name] == "__all__":
        sys.modules.setdefault(module, _NoPlugins(module))
    try:
        yield
    finally:
        if not given:
            os.environ.pop(name, None)
        if isinstance(sys.modules.get(module), _NoPlugins):
            del sys.modules[module]


@contextmanager
def annotations_compiled_once() -> Iterator[None]:
    """Let no annotation be compiled again that says the same as one before, as most do.

    Pydantic asks for those of each model and of all that it inherits from, some 1,700 for a small
    log and 300 different ones: a twentieth of the time.
    """
    names = vars(typing)
    names["compile"] = functools.cache(compile)  # in place of Python's own
    try:
        yield
    finally:
        names.pop("compile", None)


def _tell_of_no_settings(settings: set[str]) -> None:
    read = settings - {name.upper() for name in TABLES}
    for variable in sorted(os.environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in read or not os.environ[variable].strip():
            continue
        import difflib

        near = difflib.get_close_matches(name, sorted(read), n=1, cutoff=ALIKE)
        hint = f"did you mean {PREFIX}{near[0]}?" if near else ""
        if name in OPTIONS:
            hint = f"say --{name.lower()}"
        elif name.lower() in TABLES:
            hint = "it is a table, for pyproject.toml"
        if hint:
            say(f"{variable} is no setting, and is not read", hint=hint)


def _value(variable: str, field: str, text: str) -> Any:
    from tracelens.config import Config

    kept = Config.model_fields[field].annotation
    if kept in (bool, bool | None):
        if text.lower() not in _FLAGS:
            raise UsageError(f"{variable}={text}: neither 1 nor 0")
        return _FLAGS[text.lower()]
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if field == "ignore":
        return dict.fromkeys(parts, f"ignored by {variable}")
    return parts if kept == tuple[str, ...] else text
