"""What the operating system says about the processor, where the log holds it.

People paste the output of ``collect_env`` or ``lscpu`` above their logs. It tells what the
processor could do; oneDNN's header tells what it may do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["CpuCount", "CpuFlags", "CpuInfo", "CpuModel", "IsaLimit"]

Words = Annotated[
    frozenset[str],
    BeforeValidator(lambda value: value.split() if isinstance(value, str) else value),
]


class CpuInfo(Log):
    """Single lines of ``lscpu``, ``collect_env`` or ``/proc/cpuinfo``."""

    name = "cpu_info"
    switch = "lscpu"
    begins = re.compile(
        r"(?:[Ff]lags|Features)[ \t]*:[ \t]+fp(?:u vme| asimd) "
        r"|CPU\(s\):[ ]{5,60}\d{1,5}$|Model name:[ ]{5}|model name\t: "
        r"|(?:export )?(?:ONEDNN|DNNL)_MAX_CPU_ISA=[\"']?[A-Za-z]"
    )

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return the processor."""
        models = [seen.record.model for seen in evidence.table(CpuModel)]
        return {"cpu": next(iter(models), None)}


class CpuFlags(Record):
    """What the processor can do, in the kernel's names: ``avx512_bf16``, ``amx_tile``, ``sve``."""

    names: Words


class CpuModel(Record):
    """The processor's name."""

    model: Stripped


class CpuCount(Record):
    """How many CPUs the system has: hardware threads, not cores."""

    count: int


class IsaLimit(Record):
    """The variable that limits the instructions which oneDNN may use."""

    #: ``ONEDNN_MAX_CPU_ISA`` or ``DNNL_MAX_CPU_ISA``.
    variable: Annotated[str, BeforeValidator(lambda text: text.removeprefix("export "))]
    value: Annotated[str, BeforeValidator(lambda text: text.strip("\"'").upper())]
