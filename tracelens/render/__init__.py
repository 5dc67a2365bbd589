"""Renderers: one module each; a renderer is a pure function of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tracelens.report import Report

__all__ = ["Options", "Renderer"]


def _no_page(code: str) -> None:
    del code


def _no_link(name: str) -> None:
    del name


#: Whether to redact, or how far: the user's paths, code, names as well.
Redact = bool | Literal["paths", "source", "all"] | None


@dataclass(frozen=True)
class Options:
    """What the user may ask of any format. A renderer ignores what does not apply to it."""

    #: Characters per line, for terminals.
    width: int = 80
    #: Whether escape sequences for colour may be written.
    color: bool = False
    #: Most characters of the result, where a service has a limit (0 = none).
    max_chars: int = 0
    #: Whether to replace names of users, hosts and home directories, and what else; None = as the
    #: format prefers.
    redact: Redact = None
    #: Further texts to replace where names are.
    redact_words: tuple[str, ...] = ()
    #: More detail: harmless findings, absent verdicts, coverage lists.
    verbose: bool = False
    #: The folder that paths are relative to in formats for sharing; empty = as the logs have them.
    root: str = ""
    #: The page of a rule by code, in Markdown, for formats that carry it; None where it is not
    #: installed.
    page: Callable[[str], str | None] = field(default=_no_page, compare=False)
    #: The address of a file, or of a rule by code, for a terminal that makes links.
    link: Callable[[str], str | None] = field(default=_no_link, compare=False)


class Renderer:
    """Base of every output format; never instantiated."""

    #: As given to ``-f``.
    name: ClassVar[str] = ""
    #: File suffixes that select it with ``-o``, such as ``.md``.
    suffixes: ClassVar[tuple[str, ...]] = ()
    #: Whether names are redacted unless the user says otherwise.
    redacts: ClassVar[bool] = True
    #: Whether it draws any table of the report; one that does not is spared their redaction.
    draws_tables: ClassVar[bool] = True

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return the report as text. Equal reports and options give equal bytes."""
        raise NotImplementedError

    @classmethod
    def files(cls, report: Report, options: Options) -> dict[str, str]:
        """Return the report as several files by name, for a folder; none = it is one text."""
        del report, options
        return {}
