"""Rules that had nothing to look at, and the settings that show them their evidence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from tracelens.late import late
from tracelens.report import Outcome, Report

__all__ = ["Missing", "merged", "missing", "settings_of"]

_SETTING = late(r"[A-Z][A-Z0-9_]*=.")


class Missing(NamedTuple):
    """What could not be judged."""

    #: Switch as its log kind names it -> the codes of the rules that need it.
    by_switch: dict[str, list[str]]

    @property
    def codes(self) -> list[str]:
        """The rules, each once."""
        return sorted({code for codes in self.by_switch.values() for code in codes})


def missing(report: Report) -> Missing:
    """Group the absent verdicts of ``report`` by the switch that each needs."""
    by_switch: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.verdict is Outcome.ABSENT:
            for switch in verdict.needs or ("",):
                by_switch.setdefault(switch, []).append(verdict.code)
    return Missing(dict(sorted(by_switch.items(), key=lambda item: (-len(item[1]), item[0]))))


def merged(settings: Mapping[str, list[str]]) -> str:
    """Return what to put before the command: ``TORCH_LOGS="guards,recompiles"``."""
    return " ".join(f"{name}={_quoted(_merged(name, settings[name]))}" for name in sorted(settings))


def settings_of(switch: str) -> list[tuple[str, str]]:
    """Return the shell assignments in a switch; of two alternatives the first."""
    try:
        words = shlex.split(switch.partition(" or ")[0])
    except ValueError:
        return []
    if not all(_SETTING.match(word) for word in words):
        return []
    return [(name, value) for name, _, value in (word.partition("=") for word in words)]


def _merged(name: str, values: list[str]) -> str:
    distinct = sorted(set(values))
    if name == "TORCH_LOGS":
        # ``+inductor`` shows what ``inductor`` shows, and more.
        return ",".join(value for value in distinct if f"+{value}" not in distinct)
    if len(distinct) == 1:
        return distinct[0]
    if name == "ONEDNN_VERBOSE":
        return max(distinct) if all(value.isdigit() for value in distinct) else "all"
    return values[0]


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"[^\w./:=-]", value) else value
