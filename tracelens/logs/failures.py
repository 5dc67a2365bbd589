"""What stands around an exception, a compiler's error or a crash, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import field_validator

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["Diagnostic", "Episode", "Failures", "Raised", "Said", "Traced"]

#: Characters of a message that a table keeps.
MAX_MESSAGE = 300


class Failures(Log):
    """Excerpts that may tell why a program failed; :mod:`tracelens.source.watch` finds them."""

    name = "failures"
    switch = "printed by default"
    always = True

    @classmethod
    def owns(cls, records: Sequence[Record]) -> bool:
        """Leave the program's other troubles to the program."""
        from tracelens.failures.reading import told  # noqa: PLC0415 -- made from this kind

        return any(isinstance(one, Episode) and told(one) is not None for one in records)

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``failures``: each failure once, with the user's line that it is about."""
        from tracelens.failures import Failure  # noqa: PLC0415 -- joined from this kind

        rows = [
            {
                "run": seen.first.input,
                "stage": seen.record.stage,
                "exception": seen.record.exception,
                "message": seen.record.message[:MAX_MESSAGE],
                "file": seen.record.file or None,
                "line": seen.record.line or None,
                "function": seen.record.function or None,
                "generated": seen.record.generated or None,
            }
            for seen in evidence.table(Failure)
        ]
        return {"failures": rows} if rows else {}


class _Line(Record):
    """One line of an excerpt."""

    #: Torch's own logger wrote it.
    logged: bool = False
    #: The line of the excerpt.
    at: int = 0

    @field_validator("logged", mode="before")
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

    @field_validator("torch", mode="before")
    @classmethod
    def _present(cls, mark: object) -> bool:
        return bool(mark)
