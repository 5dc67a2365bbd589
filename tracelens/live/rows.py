"""Rows of the what-if table: the settings that are tried, and what is told of each."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tracelens.errors import UsageError
from tracelens.experiment import UNCHANGED, Knob, Value
from tracelens.live import load
from tracelens.live.runs import Recorded, Run
from tracelens.live.statistics import Judgement
from tracelens.report import Report

if TYPE_CHECKING:
    from tracelens.live.sampling import Guess

__all__ = [
    "EAGER", "Row", "break_even", "check", "combined", "counted", "guessed", "levers", "named",
    "pasted", "timed", "times", "unchanged",
]  # fmt: skip

Row = dict[str, Any]
EAGER = Knob("eager", config={"torch._dynamo.config.disable": True})
#: Runs whose times make the columns; fewer steps than this have no 99th percentile.
STEPS = 100


def levers(threads: int, *, gpu: bool) -> list[Knob]:
    """Return the settings that are worth trying on any model.

    Args:
        threads: What the unchanged program uses.
        gpu: Whether the machine has an accelerator.
    """
    found = [
        Knob("freezing", config={"torch._inductor.config.freezing": True}),
        Knob("dynamic sizes", compile={"dynamic": True}),
        Knob(
            "lower float32 precision",
            config={"torch.set_float32_matmul_precision": "high" if gpu else "medium"},
            changes_results=True,
        ),
    ]
    found.append(Knob("channels_last", layout="channels_last"))
    if gpu:
        found.append(Knob("reduce-overhead", compile={"mode": "reduce-overhead"}))
    # What compiles long comes late: it is what the time may not suffice for.
    found.append(Knob("max-autotune", compile={"mode": "max-autotune"}))
    found.append(Knob("C++ wrapper", config={"torch._inductor.config.cpp_wrapper": True}))
    counts = {1, threads // 2, load.processors()} - {0, threads}
    found += [Knob(f"threads: {n}", env={"OMP_NUM_THREADS": str(n)}) for n in sorted(counts)]
    return found


def check(text: str) -> None:
    """Refuse what is neither a row of one's own nor the name of a standard one.

    Raises:
        UsageError: It is neither.
    """
    if "=" in text:
        _own(text)
        return
    names = [knob.text for knob in (EAGER, *levers(2, gpu=True)) if "threads" not in knob.text]
    if text not in names and not text.startswith("threads: "):
        raise UsageError(
            f"--row {text}: no such setting", hint=f"NAME=VARIABLE=VALUE, or {', '.join(names)}"
        )


def named(text: str, standard: Sequence[Knob]) -> Knob:
    """Return the setting that ``--row`` asks for.

    Raises:
        UsageError: There is no such setting.
    """
    if "=" in text:
        return _own(text)
    for knob in (EAGER, *standard):
        if knob.text == text:
            return knob
    if text.startswith("threads: ") and text[9:].isdecimal():
        return Knob(text, env={"OMP_NUM_THREADS": text[9:]})
    raise UsageError(f"--row {text}: no such setting here")


def _own(text: str) -> Knob:
    """Return ``NAME=VARIABLE=VALUE[,...]`` as a setting; those of torch begin with ``torch.``."""
    name, _, rest = text.partition("=")
    env: dict[str, str | None] = {}
    config: dict[str, Value] = {}
    for part in rest.split(","):
        variable, equals, value = part.partition("=")
        variable = variable.strip()
        if not (name.strip() and variable and equals):
            raise UsageError(f"--row {text}: not of the form NAME=VARIABLE=VALUE")
        if variable.startswith("torch."):
            config[variable] = _value(value)
        else:
            env[variable] = value
    return Knob(name.strip(), env=env, config=config, changes_results=True)


def _value(text: str) -> Value:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return found if isinstance(found, bool | int | float | str | None) else text


def timed(said: Judgement) -> Row:
    """Return what the comparison with the unchanged program says."""
    if not said.after_ms:
        return {}
    row: Row = {"step_ms": _three(said.after_ms), "speedup": round(said.ratio, 3)}
    return row | {"interval": f"{said.low:.2f} to {said.high:.2f}", "verdict": said.answer}


def guessed(said: Guess) -> Row:
    """Return the same before there are enough runs for a verdict."""
    row: Row = {"step_ms": _three(said.after_ms), "speedup": round(said.ratio, 3)}
    return row | {"interval": f"{said.low:.2f} to {said.high:.2f}", "verdict": ""}


def unchanged(runs: Sequence[Run]) -> Row:
    """Return the row's own figures for the unchanged program."""
    steps = sorted(time for run in runs for time in run.cpu or run.times)
    middle: Row = {"step_ms": _three(_quantile(steps, 50))} if steps else {}
    return middle | {"speedup": 1.0, "interval": "", "verdict": ""}


def times(runs: Sequence[Run]) -> Row:
    """Return how long steps took, by the wall clock, over all runs of a row; milliseconds."""
    steps = sorted(time for run in runs for time in run.times)
    if not steps:
        return {}
    mean = statistics.fmean(steps)
    row: Row = {"mean_ms": _three(mean), "sigma_ms": _three(statistics.pstdev(steps))}
    row |= {"min_ms": _three(steps[0]), "max_ms": _three(steps[-1])}
    row |= {f"p{at}_ms": _three(_quantile(steps, at)) for at in (50, 90)}
    row["p99_ms"] = _three(_quantile(steps, 99)) if len(steps) >= STEPS else None
    row["steps_per_s"] = _three(1e3 / mean)
    row["steps"] = len(steps)
    row["runs"] = len(runs)
    return row | {
        "first_call_ms": _three(runs[0].first_ms) if runs[0].first_ms else None,
        "peak_mb": round(runs[0].peak_bytes / 2**20) if runs[0].peak_bytes else None,
    }


def counted(recorded: Recorded) -> Row:
    """Return what the recorded run shows: seconds of compiling, recompilations, graph breaks."""
    return {
        "compile_s": round(recorded.steps.compile_seconds, 2),
        "recompiles": _count(recorded.report, "recompiles"),
        "graph_breaks": _count(recorded.report, "graph_breaks"),
    }


def break_even(row: Row, eager: Row) -> int | None:
    """Return after how many calls compiling has paid for itself; None where it never does."""
    saved = (eager.get("mean_ms") or 0.0) - (row.get("mean_ms") or 0.0)
    spent = (row.get("compile_s") or 0.0) * 1e3
    if not row.get("mean_ms") or saved <= 0 or not spent:
        return None
    return max(1, round(spent / saved))


def _count(report: Report, table: str) -> int:
    return sum(int(row.get("count") or 1) for row in report.tables.get(table, ()))


def _quantile(ranked: Sequence[float], percent: int) -> float:
    return ranked[min(len(ranked) - 1, len(ranked) * percent // 100)]


def _three(value: float) -> float:
    return float(f"{value:.3g}")


def combined(ranked: Sequence[Knob]) -> Knob:
    """Return settings, the best first, as one: of two that exclude each other the better."""
    env: dict[str, str | None] = {}
    config: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    names: list[str] = []
    layout = ""
    for knob in ranked:
        if env.keys() & knob.env.keys() or arguments.keys() & knob.compile.keys():
            continue
        env |= knob.env
        config |= knob.config
        arguments |= knob.compile
        layout = layout or knob.layout
        names.append(knob.text)
    if len(names) < 2:
        return UNCHANGED
    changes = any(knob.changes_results for knob in ranked)
    return Knob(" + ".join(names), env, config, arguments, layout, changes_results=changes)


def pasted(knob: Knob) -> Iterator[str]:
    """Yield what is set, as one would paste it."""
    for name, value in knob.settings.items():
        yield f"{name[:-1]}{value})" if name.endswith("=)") else f"{name}={value}"
