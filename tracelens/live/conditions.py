"""Under which conditions runs were made: what a reader has to know to believe a time."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tracelens.live import load
from tracelens.live.steps import Steps

__all__ = ["All", "Strain", "accelerators", "busy", "crowding", "told"]

#: Processors that a program may lack before its times count as disturbed: so many, or this share.
LACKING, LACKING_SHARE = 0.25, 0.05


@dataclass(frozen=True)
class Strain:
    """How crowded it was around one run."""

    #: Processors that other programs kept busy just before it.
    elsewhere: float
    usage: load.Usage


class All(NamedTuple):
    """What all processes of a run told together."""

    compiles: int
    force: tuple[tuple[str, bool, str], ...]
    notes: tuple[str, ...]
    told: bool
    #: Bytes of resident memory at the worst moment; 0 where that is not known.
    memory: int = 0


def told(folder: Path) -> tuple[dict[str, str], Steps, All]:
    """Return facts about the process that made the most steps, its steps, and what all told."""
    facts = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    told = facts.get("processes") or [{}]
    force = (tuple(row) for one in told for row in one.get("force", ()))
    whole = All(
        sum(int(one.get("steps", {}).get("compiles", 0)) for one in told),
        tuple(dict.fromkeys((str(a), bool(b), str(c)) for a, b, c in force)),
        tuple(dict.fromkeys(str(note) for one in told for note in one.get("notes", ()))),
        bool(facts.get("processes")),
        int((facts.get("finished") or {}).get("peak_memory") or 0),
    )
    chief = max(told, key=lambda one: one.get("steps", {}).get("calls", 0))
    counts = chief.get("steps", {})
    marker = counts.get("callable")
    made = Steps(
        calls=int(counts.get("calls", 0)),
        marker=(int(marker[0]), str(marker[1])) if marker else None,
        begins=int(counts.get("begins", 0)),
        compiles=int(counts.get("compiles", 0)),
        compile_seconds=float(counts.get("compile_seconds", 0)),
        run_seconds=float(counts.get("run_seconds", 0)),
        settings=tuple(chief.get("settings", {})),
        notes=tuple(chief.get("notes", ())),
    )
    return _facts(chief, facts.get("machine", {})), made, whole


def _facts(chief: Mapping[str, Any], machine: Mapping[str, Any]) -> dict[str, str]:
    """Return what a reader wants to know about the conditions, in words."""
    devices = chief.get("devices")
    affinity = chief.get("affinity")
    named = {
        "torch": chief.get("torch"),
        "threads": chief.get("threads"),
        "CPU": machine.get("cpu"),
        "ISA": chief.get("cpu_capability"),
        "device": devices[0] if isinstance(devices, list) and devices else None,
        "affinity": f"processors {_ranges(affinity)}" if affinity else None,
        "machine": machine.get("machine") or platform.machine(),
    }
    return {name: str(value) for name, value in named.items() if value is not None}


def _ranges(numbers: list[int]) -> str:
    """Return ``0-3, 8``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in spans)


def busy(strains: Sequence[Strain], threads: int) -> bool:
    """Return whether others leave too few processors to a program with so many threads."""
    wanted = min(threads, load.processors())
    lacking = wanted - (load.processors() - _elsewhere(strains))
    return lacking > max(LACKING, LACKING_SHARE * wanted)


def _elsewhere(strains: Sequence[Strain]) -> float:
    return statistics.median(strain.elsewhere for strain in strains)


def crowding(unchanged: Sequence[Strain], changed: Sequence[Strain]) -> dict[str, str]:
    """Return how crowded the machine was, on both sides, in words."""
    both = [*unchanged, *changed]
    found = {"busy elsewhere": f"{_elsewhere(both):.1f} of {load.processors()} processors"}
    for name, strains in (("unchanged", unchanged), ("changed", changed)):
        cpu = sum(strain.usage.cpu_seconds for strain in strains)
        rate = sum(strain.usage.preemptions for strain in strains) / cpu if cpu else 0.0
        found[f"preemptions {name}"] = f"{rate:.0f} per second"
    if hasattr(os, "getloadavg"):
        found["load"] = f"{os.getloadavg()[0]:.1f}"
    return found


#: Where drivers of accelerators show that there is one.
_DEVICES = ("/proc/driver/nvidia/gpus/*", "/dev/kfd", "/dev/dri/renderD*")


def accelerators() -> list[str]:
    """Return signs of accelerators on this machine; torch is not asked."""
    root = Path("/")
    return [str(path) for pattern in _DEVICES for path in root.glob(pattern.lstrip("/"))]
