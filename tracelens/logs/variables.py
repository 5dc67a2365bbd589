"""Environment variables that decide how torch runs, where the log shows them.

Logs of jobs often begin with the environment, and people copy the command with what it printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from tracelens.logs import Log, Record
from tracelens.logs._kinds import kind

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["EnvironmentVariable", "SettingsLine", "Variables"]

#: Rows of the report's table.
MAX_ROWS = 200
#: How the names of variables begin that torch, its libraries or OpenMP read.
_FAMILIES = (
    "TORCH|PYTORCH_|ONEDNN_|DNNL_|OMP_|GOMP_|KMP_|MKL_|ATEN_CPU_CAPABILITY|CUDA_LAUNCH_BLOCKING"
    "|HIP_LAUNCH_BLOCKING|AMD_SERIALIZE_|TRITON_|NVIDIA_TF32_OVERRIDE|CUBLAS_WORKSPACE_CONFIG"
    "|LD_PRELOAD|PYTHONDEVMODE|NCCL_DEBUG|UNSAFE_SKIP_FSDP"
)
_LEAD = r"(?:(?:\+{1,4}|\$|>|export|declare -x|env|sudo) ){0,3}"


class Variables(Log):
    """Lines that set environment variables."""

    name = "variables"
    switch = 'env | grep -E "TORCH|OMP|ONEDNN"'
    begins = re.compile(
        rf"{_LEAD}(?:[A-Za-z_]\w{{0,80}}=\S{{0,300}} ){{0,12}}(?:{_FAMILIES})\w{{0,80}}="
        # What ends in a colon or a comma is a sentence of the program's.
        r"(?!\S{1,300}[:,](?:\s|$))\S"
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the variables of one line, and what limits oneDNN's instructions as its record."""
        return tuple(found for line in super().parse(text) for found in _variables(line))

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``settings``: every variable that the log shows, with its values."""
        rows = [
            {"name": row.record.name, "value": row.record.value, "count": row.count}
            for row in evidence.table(EnvironmentVariable)
        ]
        return {"settings": rows[:MAX_ROWS]} if rows else {}


class Variable(BaseModel):
    """One assignment as the grammar cuts it."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, BeforeValidator(lambda text: text.strip())]
    value: Annotated[str, BeforeValidator(lambda text: text.removeprefix("=").strip("\"' *"))]


class SettingsLine(Record):
    """A line with one variable or several, and the command that they are for."""

    variables: tuple[Variable, ...] = ()
    command: str = ""


class EnvironmentVariable(Record):
    """A variable of the environment, and what it was set to."""

    from_code: ClassVar[bool] = True

    name: str
    value: str


def _variables(line: Record) -> Iterator[Record]:
    if not isinstance(line, SettingsLine):
        return
    for variable in line.variables:
        if variable.name in {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}:
            yield from kind("cpu_info").parse(f"{variable.name}={variable.value}")
        yield EnvironmentVariable(name=variable.name, value=variable.value)
