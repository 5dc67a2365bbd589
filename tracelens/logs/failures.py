"""What stands around an exception, a compiler's error or a crash, line by line."""

from __future__ import annotations

from typing import ClassVar

from pydantic import field_validator

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

__all__ = ["Diagnostic", "Episode", "Failures", "Raised", "Said", "Traced"]


class Failures(Log):
    """Excerpts that may tell why a program failed; :mod:`tracelens.source.watch` finds them."""

    name = "failures"
    switch = "printed by default"
    always = True


class _Line(Record):
    """One line of an excerpt."""

    #: Torch's own logger wrote it.
    logged: bool = False
    #: ... which tells of functions that Dynamo leaves out.
    left: bool = False
    #: The line of the excerpt.
    at: int = 0

    @field_validator("logged", "left", mode="before")
    @classmethod
    def _marked(cls, mark: object) -> bool:
        return bool(mark)


class Traced(_Line):
    """A frame of a stack."""

    file: str = ""
    path: str = ""
    number: int = 0
    function: Stripped = ""

    @property
    def place(self) -> str:
        """The file, in whichever form the frame is printed."""
        return (self.file or self.path).strip()


class Raised(_Line):
    """The name of an exception, those that it wraps, and what it says in this line."""

    lead: str = ""
    errors: tuple[str, ...] = ()
    message: Stripped = ""
    bare: str = ""

    #: The last parts of names that say nothing of their own.
    WRAPPERS: ClassVar[frozenset[str]] = frozenset(
        {"BackendCompilerFailed", "InductorError", "InternalTorchDynamoError", "SubprocException"}
    )


class Diagnostic(_Line):
    """What a compiler, a linker or an assembler refuses."""

    diagnostic: Stripped


class Said(_Line):
    """Any other line."""

    text: str = ""


class Episode(Record):
    """An excerpt: what happened together."""

    items: tuple[Traced | Raised | Diagnostic | Said, ...] = ()
    #: Lines of the input after it; None where the input is not whole.
    after: int | None = None
    #: Whether the input holds other records of torch.
    torch: bool = False
    #: Whether the input is a few lines in all: what somebody copied.
    short: bool = False
    #: Whether torch logged there why it leaves a function uncompiled.
    leaves_out: bool = False
    #: Whether those few lines name a GPU of AMD's, and none of NVIDIA's.
    of_amd: bool = False
    #: ... or Unsloth, which compiles models by itself.
    unsloth: bool = False

    @field_validator("torch", "short", "leaves_out", "of_amd", "unsloth", mode="before")
    @classmethod
    def _present(cls, mark: object) -> bool:
        return bool(mark)
