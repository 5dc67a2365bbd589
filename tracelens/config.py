"""What to look for and when to fail: ``[tool.tracelens]`` of a project, then the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveInt, ValidationError

from tracelens.errors import UsageError, closest
from tracelens.policies import BUDGETS, extended, table_of

__all__ = ["Config", "Ignore", "load"]


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Ignore(BaseModel):
    """Findings that are accepted: all that fit everything that is given."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: A code, a prefix of codes or a name.
    rule: str = ""
    #: The id of one finding.
    id: str = ""
    #: A glob of the user's files, as ``tests/*``.
    path: str = ""
    #: A glob of the names of runs.
    run: str = ""
    reason: str = ""
    #: The first day on which it no longer holds.
    until: date | None = None


class Config(BaseModel):
    """The settings of one analysis. Keys are written with hyphens."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", alias_generator=_kebab
    )

    #: Codes, prefixes of codes or names of the rules to ask; all when empty.
    select: tuple[str, ...] = ()
    #: Rules to ask as well as those of ``select``.
    extend_select: tuple[str, ...] = ()
    #: Rules whose findings are kept as ignored, with the reason for each.
    ignore: dict[str, str] = {}
    #: Findings that are kept as ignored, more precisely.
    ignores: tuple[Ignore, ...] = ()
    #: Severities of rules, other than their own, by code, prefix or name.
    severity: dict[str, Literal["error", "warning", "info"]] = {}
    #: Most of a counter, as ``graph-breaks = 0``; more makes the exit code 1.
    budgets: dict[str, NonNegativeFloat] = {}
    #: A file of such settings that these add to: a path, or ``pack:policy``.
    extends: str = ""
    #: The severity from which a finding makes the exit code 1.
    fail_on: Literal["error", "warning", "info", "never"] = "never"
    #: Whether a rule without evidence makes the exit code 1.
    fail_on_absent: bool = False
    #: Rules that must have had evidence.
    require: tuple[str, ...] = ()
    #: Artifacts that were on though a log need not show it: ``graph_breaks``, ``onednn_verbose``.
    recorded_with: tuple[str, ...] = ()
    #: Whether a text that its grammar refused makes the exit code 2.
    strict: bool = False
    #: Whether to hide names of users and machines, or how much else; None = as each format prefers.
    redact: bool | Literal["paths", "source", "all"] | None = None
    #: Further texts to replace where names are: what a project is called, or a customer.
    redact_words: tuple[str, ...] = ()
    #: Most characters of a Markdown report.
    max_chars: PositiveInt = 60_000
    #: The share by which counts may grow before a baseline no longer covers a finding.
    baseline_tolerance: NonNegativeFloat = 0.1
    #: Processes that may share the work; None: as many as are free, where there is much to read.
    jobs: PositiveInt | None = None

    @property
    def selected(self) -> tuple[str, ...]:
        """What to ask for; empty = everything."""
        return (*self.select, *self.extend_select) if self.select else ()

    def updated(self, options: Mapping[str, Any]) -> Config:
        """Return the settings with ``options`` of the command line, by option name, laid over them.

        An option that was not given (None or empty) changes nothing. ``select`` replaces all that
        the project selects; ``extend-select``, ``ignore``, ``require`` and
        ``recorded-with`` add to it.

        Raises:
            UsageError: A value is not one that the option takes.
        """
        held = self.model_dump(by_alias=True)
        given = {name: value for name, value in options.items() if value not in (None, (), {})}
        if "select" in given:
            held["extend-select"] = ()
        for name in given.keys() & {"extend-select", "require", "recorded-with"}:
            given[name] = (*held[name], *given[name])
        if "ignore" in given:
            given["ignore"] = given["ignore"] | held["ignore"]
        return _checked(held | given, "--")


def load(start: Path) -> Config:
    """Return the settings of the nearest ``pyproject.toml`` at or above ``start`` that has any.

    Raises:
        UsageError: The file is no TOML, or its table has a key or a value that does not exist.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and (table := table_of(file)) is not None:
            return _checked(extended(table, file), f"{file}: [tool.tracelens] ")
    return Config()


def _checked(values: Mapping[str, Any], where: str) -> Config:
    try:
        config = Config.model_validate(values)
        for name in config.budgets.keys() - BUDGETS.keys():
            hint = closest(name, BUDGETS, f"one of {', '.join(BUDGETS)}")
            raise UsageError(f"{where}budgets: nothing is counted as {name!r}", hint=hint)
        return config
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        known = [_kebab(field) for field in Config.model_fields]
        hint = closest(key, known, f"one of {', '.join(known)}")
        raise UsageError(f"{where}{key}: no such setting", hint=hint)
    message = f"{where}{key}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    expected = re.findall(r"'([^']+)'", str(first.get("ctx", {}).get("expected", "")))
    raise UsageError(message, hint=closest(str(first["input"]), expected))
