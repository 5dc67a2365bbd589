"""What rows of the profiler's table say, where no rule judges them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tracelens.words import length

if TYPE_CHECKING:
    from tracelens.logs.key_averages import Average

__all__ = ["LAUNCH_BOUND", "told"]

#: Milliseconds of the host, and of the device.
Whole = tuple[float | None, float | None]
#: Times of the host for one of the device's, from which kernels are too short for their launches.
LAUNCH_BOUND = 3.0
#: Share of a step's time in kernels from which the device is the limit.
BUSY = 0.85
#: So often a number is read from the device before it is worth a word.
MANY_READS = 10
#: So many calls, each of them as short, are mostly the work around operators.
MANY_CALLS = 1000
SHORT_CALL_MS = 0.02
#: What reads a number from the device, the innermost first: each calls the one before it.
_READS = ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero")
#: Calls of the runtimes of CUDA, ROCm and Level Zero, and what the profiler adds itself.
_RUNTIME = re.compile(r"(?:cuda|cu|hip|ur|ze)[A-Z]|ProfilerStep|Activity Buffer|Command Buffer")
#: Rows that hold others.
_SPANS = re.compile(r"ProfilerStep")
_KERNEL = re.compile(r"(?!aten::|autograd::|torch::|_|\w*Backward\d*$|Optimizer\.|## )[\w:<(]")


def told(rows: Sequence[Average], whole: Whole = (None, None)) -> str:
    """Return sentences about the longest row, numbers that are read, and launches.

    ``whole`` are the milliseconds of the host and of the device in all, where shares tell them.
    """
    if not rows:
        return ""
    busy = list(_busy(rows))
    rows = [row for row in rows if not _SPANS.match(row.name)] or rows
    most = max(rows, key=lambda row: row.self_device_ms or row.self_cpu_ms or 0.0)
    ms, where = (
        (most.self_device_ms, "of the device")
        if most.self_device_ms
        else (most.self_cpu_ms, "of the host")
    )
    times = f", in {most.calls:,} calls" if most.calls else ""
    said = [f"Most time in them, {length(ms or 0.0)} {where}, is that of `{most.name}`{times}."]
    return " ".join(
        (
            *busy,
            *said,
            *_what(most.name),
            *_reads(rows),
            *(_wholly(*whole, rows) or _launches(rows)),
            *_short(rows),
        )
    )


def _busy(rows: Sequence[Average]) -> Iterable[str]:
    """Yield how much of a step's time the device works, which its row tells."""
    step = next((row for row in rows if _SPANS.match(row.name)), None)
    if step is None or not step.cpu_ms or not step.device_ms or step.device_ms > step.cpu_ms:
        return
    if step.self_device_ms:
        return  # the device's copy of the step is counted in, with the pauses in it
    if step.device_ms >= BUSY * step.cpu_ms:
        yield (
            f"In {length(step.cpu_ms)} of `{step.name}` kernels run for "
            f"{length(step.device_ms)}: the device is the limit."
        )


def _what(name: str) -> Iterable[str]:
    """Yield whose kernel it is, where its name says so."""
    if name.startswith("triton_"):
        yield "Inductor generated it: its name lists the operators in it."
    elif name.startswith(("Memcpy HtoD", "Memcpy DtoH")):
        yield "It copies between host and device."
    elif name.startswith("nccl"):
        yield "It is a collective, in whose time a rank also waits for the others."
    elif name.startswith(("cudaStreamSync", "cudaDeviceSync", "hipDeviceSync", "hipStreamSync")):
        yield "In it the host waits for the device, whose work is in other rows."
    elif name == "aten::equal":
        yield "On a GPU the host waits for its answer, as for `.item()`."
    elif "elementwise_kernel" in name:
        yield "It is an elementwise operator of eager mode, which torch.compile fuses with others."


def _reads(rows: Sequence[Average]) -> Iterable[str]:
    if not any(row.self_device_ms for row in rows):
        return
    calls = {row.name: row.calls or 0 for row in rows}
    found = next((name for name in _READS if calls.get(name, 0) >= MANY_READS), None)
    if found is not None:
        yield (
            f"`{found}` ran {calls[found]:,} times: each reads a number from the device, for which "
            "the host waits (`.item()`, `.tolist()`, `if tensor:`). Keep it a tensor, or read it "
            "less often."
        )


def _short(rows: Sequence[Average]) -> Iterable[str]:
    """Yield how short calls of the host are, where nothing in the rows ran on a device."""
    operators = [row for row in rows if row.calls and row.self_cpu_ms]
    calls = sum(row.calls or 0 for row in operators)
    spent = sum(row.self_cpu_ms or 0.0 for row in operators)
    if calls < MANY_CALLS or any(row.self_device_ms for row in rows):
        return
    if spent <= SHORT_CALL_MS * calls:
        yield (
            f"These are {calls:,} calls of {length(spent / calls)} each: if a GPU waits for them, "
            "launches are the limit, and larger batches, fewer operators or CUDA graphs "
            "(mode='reduce-overhead') help."
        )


def _wholly(host: float | None, device: float | None, rows: Sequence[Average]) -> tuple[str, ...]:
    """Return what all rows take, those that are missing too, and what that means for launches."""
    if not host or not device:
        return ()
    said = (
        f"By their shares, all rows of the table take {length(host)} of the host and "
        f"{length(device)} of the device."
    )
    launches = any("Launch" in row.name and row.calls for row in rows)
    if not launches or host < LAUNCH_BOUND * device:
        return (said,)
    ratio = f"The host works {host / device:.0f} times as long as the device"
    helps = "larger batches or CUDA graphs (mode='reduce-overhead') help"
    return said, f"{ratio}: launches are the limit, and {helps}."


def _launches(rows: Sequence[Average]) -> Iterable[str]:
    kernels = [
        row.self_device_ms
        for row in rows
        if row.self_device_ms and _KERNEL.match(row.name) and not _RUNTIME.match(row.name)
    ]
    device = sum(kernels) or sum(row.self_device_ms or 0.0 for row in rows)
    launching = [row for row in rows if "Launch" in row.name and row.calls]
    host = sum(row.self_cpu_ms or 0.0 for row in rows if "Synchronize" not in row.name)
    if launching and device and host >= LAUNCH_BOUND * device:
        yield (
            f"In these rows the host works {host / device:.0f} times as long as the device: if "
            "that holds for all of them, launches are the limit, and larger batches or CUDA graphs "
            "(mode='reduce-overhead') help."
        )
