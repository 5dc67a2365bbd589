"""The C++ text of a module that is wrapped in C++: its kernels, and the lines they are for."""

from __future__ import annotations

from functools import lru_cache

from tracelens.logs import Record
from tracelens.logs._generated import fill
from tracelens.logs._kernels import KernelDef

__all__ = ["CppPart", "Definition", "Guarded", "Wrapper"]


class Definition(Record):
    """A kernel; ``body`` begins with its parameters."""

    at: int = 0
    name: str
    body: str


class Guarded(Record):
    """A call of a kernel, and the stacks of the nodes that it computes."""

    name: str
    stacks: str


class Wrapper(Record):
    """What a wrapper defines and calls."""

    definitions: tuple[Definition, ...] = ()
    guardeds: tuple[Guarded, ...] = ()


class CppPart(Record):
    """The C++ text within a module; ``at`` is the line where it begins."""

    at: int = 0
    wrapper: str

    @property
    def kernels(self) -> tuple[KernelDef, ...]:
        """The kernels that are defined in the text."""
        return tuple(
            KernelDef(
                at=self.at + one.at,
                kernel=one.name,
                language="cpp",
                source=f'extern "C" void {one.name}{one.body}',
            )
            for one in _wrapper(self.wrapper).definitions
        )

    def calls(self, kernel: str) -> tuple[Guarded, ...]:
        """Return the calls of a kernel."""
        return _calls(self.wrapper).get(kernel, ())


@lru_cache(maxsize=256)
def _wrapper(text: str) -> Wrapper:
    return fill("wrapper", text, Wrapper) or Wrapper()


@lru_cache(maxsize=256)
def _calls(text: str) -> dict[str, tuple[Guarded, ...]]:
    """Return the calls of each kernel."""
    found: dict[str, list[Guarded]] = {}
    for one in _wrapper(text).guardeds:
        found.setdefault(one.name, []).append(one)
    return {name: tuple(calls) for name, calls in found.items()}
