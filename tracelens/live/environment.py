"""What there is to know about the machine and about what ran on it, for ``environment.json``."""

from __future__ import annotations

import os
import platform
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracelens.live.steps import Process

__all__ = ["log_lines", "machine", "notes", "told"]

#: What the kernel says about the processor and a log kind reads: ``cpu_info``.
_CPU_LINE = re.compile(r"^(?:model name|flags|Features)\s*:.+$", re.MULTILINE)


def machine(base: Mapping[str, str]) -> dict[str, Any]:
    """Return facts about this machine; ``base`` is the environment that programs get."""
    facts: dict[str, Any] = {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "affinity": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu_quota": _cpu_quota(),
        "memory": _memory(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        "omp_num_threads": base.get("OMP_NUM_THREADS"),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _cpu_lines() -> str:
    """Return what the kernel says about the processor."""
    found = dict.fromkeys(_CPU_LINE.findall(_read("/proc/cpuinfo", 1 << 16)))
    kinds = {line.partition(":")[0].strip(): line for line in reversed(found)}
    return "".join(f"{line}\n" for line in reversed(kinds.values()))


#: Switches of which a log tells that they were on.
_SWITCHES = ("TORCH_LOGS", "ONEDNN_VERBOSE", "TORCH_TRACE")
#: Variables with which nothing is compiled.
_DISABLING = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
#: Places that ask for something to be compiled, each a line of the log.
MAX_ASKED = 50


def log_lines(
    processes: Sequence[Process],
    *,
    whole: bool = False,
    ended: str = "",
    switches: Mapping[str, str] | None = None,
) -> bytes:
    """Return the lines with which a recorded log ends: processor, torch, switches.

    Args:
        processes: What the processes told.
        whole: Whether the program ended well, so that what the log lacks did not happen.
        ended: How it ended, in words.
        switches: What was on, where the environment does not say it.
    """
    about: dict[str, Any] = {}
    for process in processes:
        about = process.about | about
    devices = about.get("devices")
    facts = {
        "torch": about.get("torch"),
        "threads": about.get("threads"),
        "device": devices[0] if isinstance(devices, list) and devices else None,
        "ended": ended or None,
    }
    if whole or switches:
        on = switches or about.get("environment", {})
        facts |= {name: on.get(name) for name in _SWITCHES}
    given = about.get("environment", {})
    facts |= {name: given.get(name) or None for name in _DISABLING}
    lines = [f"# tracelens: {name} {text}\n" for name, text in facts.items() if text is not None]
    lines += [f"# tracelens: note {note}\n" for note in notes(processes) if "trace:" in note]
    lines += _asked(processes) if whole else []
    return (_cpu_lines() + "".join(lines)).encode()


def _asked(processes: Sequence[Process]) -> list[str]:
    """Return a line for each place that asked for something to be compiled: was it called?"""
    calls: Counter[tuple[str, str]] = Counter()
    for process in processes:
        calls.update(dict.fromkeys(process.asked.values(), 0))
        known = (process.asked.get(call.number) for call in process.calls)
        calls.update(asked for asked in known if asked is not None)
    compiled = sum(len(process.compiles) for process in processes)
    lines = [
        f"# tracelens: asked {code} at {place}: {number} calls, {compiled} compilations in all\n"
        for (code, place), number in list(calls.items())[:MAX_ASKED]
    ]
    sizes = dict.fromkeys(
        f"# tracelens: sizes at {process.asked[number][1]}: {', '.join(map(str, seen))}\n"
        for process in processes
        for number, seen in process.sizes.items()
        if number in process.asked
    )
    return [*lines, *list(sizes)[:MAX_ASKED]]


def notes(processes: Sequence[Process]) -> list[str]:
    """Return what the processes could not do; one that took the trace speaks for the others."""
    taken = any(process.trace for process in processes)
    told = dict.fromkeys(note for process in processes for note in process.notes)
    return [note for note in told if not (taken and note.startswith("no trace:"))]


def told(process: Process) -> dict[str, Any]:
    """Return what one process told, shortened to what is worth keeping."""
    steps = process.steps()
    facts: dict[str, Any] = {
        **{key: value for key, value in process.process.items() if key != "began"},
        **process.about,
        "compiled": sorted(set(process.callables.values())),
        "steps": {
            "calls": steps.calls,
            "callable": list(steps.marker) if steps.marker else None,
            "begins": steps.begins,
            "steady": len(steps.seconds),
            "median_ms": _median_ms(steps.seconds),
            "median_call_ms": _median_ms(steps.call_seconds),
            "compiles": steps.compiles,
            "compile_seconds": round(steps.compile_seconds, 3),
            "run_seconds": round(steps.run_seconds, 3),
        },
        "settings": {name: after for name, _, after in process.settings},
        "force": [list(one) for one in process.force],
        "notes": process.notes,
    }
    return {name: value for name, value in facts.items() if value not in (None, [], {})}


def _median_ms(seconds: Sequence[float]) -> float | None:
    return round(statistics.median(seconds) * 1e3, 6) if seconds else None


def _cpu_model() -> str | None:
    for line in _cpu_lines().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or None


def _cpu_quota() -> float | None:
    """Return the processors that a container may use; None without a limit."""
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.strip().isdigit() else None


def _memory() -> int | None:
    match = re.match(r"MemTotal:\s+(\d+) kB", _read("/proc/meminfo"))
    return int(match[1]) * 1024 if match else None


def _read(path: str, size: int = 4096) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
