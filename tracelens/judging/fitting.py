"""Advice that no longer holds for the torch of the run goes; for a later one, it stays."""

from __future__ import annotations

import re

from tracelens.report import Advice, Finding

__all__ = ["fitting"]

_RELEASE = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,2}")


def fitting(finding: Finding, torch: str | None) -> Finding:
    """Return the finding without advice that no longer holds for the run's torch.

    Args:
        finding: What a rule has said.
        torch: The version that the run names, as ``2.13.0+cpu``; None where it names none.
    """
    held = tuple(advice for advice in finding.advice if _holds(advice, torch or ""))
    return finding.model_copy(update={"advice": held}) if held != finding.advice else finding


def _holds(advice: Advice, torch: str) -> bool:
    has = _RELEASE.match(torch)
    last = _RELEASE.fullmatch(advice.until or "")  # a word before it names other software
    if has is None or last is None:
        return True
    parts = [int(part) for part in last[0].split(".")]
    return [int(part) for part in has[0].split(".")][: len(parts)] <= parts
