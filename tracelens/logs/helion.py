"""The search of Helion's autotuner."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

__all__ = ["Helion", "SearchDone", "SearchStep"]


class Helion(Log):
    """One line per step of the search; the last one names the best configuration."""

    name = "helion"
    switch = "printed by default"
    always = True
    begins = re.compile(
        r"\[\d{1,6}s\] (?:Starting [A-Z]\w{0,50}(?:Search|Evolution|Tuner)\w{0,20} with "
        r"|Initial population: |Generation \d+(?: complete)?: "
        r"|Autotuning complete in \d|Autotune random seed: "
        r"|Triton compile failed)"
    )
    continues = re.compile(r"One can hardcode the best config|    @helion\.kernel\(|$")


class SearchStep(Record):
    """A step: how many configurations failed, and the best time so far in milliseconds."""

    phase: str
    failed: int = 0
    best_ms: float | None = None


class SearchDone(Record):
    """The search is over."""

    seconds: float
    configs: int
    #: The decorator that skips the search.
    config: Stripped = ""
