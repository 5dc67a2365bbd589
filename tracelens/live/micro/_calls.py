"""A function that is called with one thing after the other, and what of it is changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["STATIC", "Calls", "Failed", "source"]

STATIC = "dynamic=False"


@dataclass(frozen=True)
class Failed:
    """A guard that failed, as a finding's data have it: ``RecompileData.guards``."""

    kind: str
    name: str = ""
    path: str = ""
    dimension: int | None = None
    expected: str = ""
    actual: str = ""
    note: str = ""

    @classmethod
    def of(cls, told: Mapping[str, object]) -> Failed:
        """Return one of a report; what is not of its kind is left out."""
        words = {
            name: value
            for name in ("kind", "name", "path", "expected", "actual", "note")
            if isinstance(value := told.get(name, ""), str)
        }
        dimension = told.get("dimension")
        return cls(**{"kind": "", **words}, dimension=dimension if type(dimension) is int else None)

    @property
    def integer(self) -> int | None:
        """The value that was guarded, where it is an integer that a program may hold."""
        digits = self.expected.removeprefix("-")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) < 10
        return int(self.expected) if is_number else None

    @property
    def number(self) -> float | None:
        """The same for a float."""
        if self.integer is not None:
            return None
        try:
            found = float(self.expected)
        except ValueError:
            return None
        return found if math.isfinite(found) else None


@dataclass(frozen=True)
class Calls:
    """A function, and what it is called with, one call after the other."""

    title: str
    #: The arguments of each call, as Python.
    arguments: tuple[str, ...]
    #: What is done about it.
    knob: str
    parameters: str = "x"
    body: tuple[str, ...] = ("return torch.relu(x) + 1",)
    #: Keyword arguments of ``torch.compile``.
    options: str = ""
    #: The same with the advice followed; as they are where empty.
    changed_arguments: tuple[str, ...] = ()
    changed_options: str | None = None
    changed_body: tuple[str, ...] = ()
    setting: str = ""
    head: tuple[str, ...] = ()
    #: The ``with`` of each call, where calls are made under something.
    contexts: tuple[str, ...] = ()
    changed_contexts: tuple[str, ...] = ()
    structure: Literal["gone", "fewer"] = "gone"


def source(title: str, calls: Calls, setting: str = "") -> str:
    """Return the program: each step starts anew, and makes all the calls.

    The compiler runs without a backend: what is counted and timed is Dynamo's part.
    """
    keywords = ", ".join(filter(None, ('backend="eager"', calls.options)))
    lines = [f'"""{title[0].upper()}{title[1:]}"""', "", "import torch", ""]
    lines += [*([setting] if setting else []), *calls.head]
    lines += ["", "", f"def work({calls.parameters}):", *(f"    {line}" for line in calls.body)]
    lines += ["", "", "def setup():", "    torch.manual_seed(0)", "    x = torch.randn(16, 8)", ""]
    lines += ["    def step():", "        torch._dynamo.reset()"]
    lines += [f"        compiled = torch.compile(work, {keywords})"]
    for number, each in enumerate(calls.arguments):
        if calls.contexts:
            lines += [f"        with {calls.contexts[number]}:", f"            compiled({each})"]
        else:
            lines += [f"        compiled({each})"]
    lines += ["", "    return step", ""]
    return "\n".join(lines)
