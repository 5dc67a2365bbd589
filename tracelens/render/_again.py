"""How to record the run once more: one command, for this log and for what was found in it.

All that decides whether there is such a command, and what is in it, is here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tracelens.late import late
from tracelens.render import _words
from tracelens.render._absent import merged, missing, settings_of
from tracelens.render._first import NO_TIME, unknown_cost
from tracelens.report import Report

__all__ = ["Again", "again", "recorded"]

#: Log kinds that do not come from a compiler, beside those of the machine: of a program that shows
#: only these it is not known that it compiles anything.
_NOT_COMPILED = {"chrome_trace", "key_averages", "mkl_verbose", "nsys_stats", "onednn_verbose"}
_MACHINE = {"cpu_info", "recording", "shared_libraries", "variables"}
#: What names the lines of generated code, and the rules that look for them.
_GENERATED, _LINES = "output_code", "graph_code"
_PLACED = frozenset(
    {
        *("IND001", "IND003", "IND004", "IND005", "IND006", "IND008", "IND009", "IND010"),
        *("IND011", "IND012", "IND017", "IND021", "IND027", "IND028", "IND029", "IND030", "IND031"),
        "IND032",
        "IND033",
        "NUM003",
        *("ONE001", "ONE002", "ONE003", "ONE004", "ONE009", "ONE010", "ONE018", "ONE021"),
        "ONE023",
    }
)
_HAVE_LINES = {_LINES, "aot_graphs", "torch_trace", "chrome_trace"}
#: Log kinds that a switch of their name shows, and others: a new run is to have them again.
_BY_NAME = frozenset(
    {"aot_graphs", "bytecode", "compiled_autograd", "cudagraphs", "ddp", "dynamic", "fusion"}
    | {"graph_breaks", "graph_code", "guards", "inductor_metrics", "kernel_code", "output_code"}
    | {"perf_hints", "recompiles", "schedule", "trace_source"}
)
_BY_SWITCH = {
    "benchmarking": ("TORCH_LOGS", "autotuning"),
    "dynamo_debug": ("TORCH_LOGS", "+dynamo"),
    "inductor_debug": ("TORCH_LOGS", "+inductor"),
    "miopen": ("MIOPEN_LOG_LEVEL", "4"),
    "mkl_verbose": ("MKL_VERBOSE", "1"),
    "onednn_verbose": ("ONEDNN_VERBOSE", "1"),
    "openvino_verbose": ("OV_CPU_VERBOSE", "1"),
    "torch_trace": ("TORCH_TRACE", "trace_dir"),
    "triton_autotuning": ("TRITON_PRINT_AUTOTUNING", "1"),
}
_PROGRAM = "python your_program.py"
#: A path that a shell takes as it is; a log may hold any.
_PLAIN = late(r"(?:~/)?[\w./+-]{1,300}\.py\Z", re.ASCII)
#: A folder that stands for another one in it: nobody has it.
_HIDDEN = late(r"~user\d|(?:^|/)user\d{1,3}/")
_LIBRARY = ("site-packages", "dist-packages")


class Again(NamedTuple):
    """The command, and what it is good for."""

    why: str
    command: str


def again(report: Report) -> Again | None:
    """Return how to record once more; None where that would show nothing that is of use.

    Not below a failure, which is answered by what it says; and not for what `tracelens run` has
    switched on already. What a finding tells to switch off is not switched on.
    """
    if any(f.code.startswith("ERR") or f.data.get("ended_program") for f in report.told):
        return None
    kinds = {kind for source in report.inputs for kind in source.kinds}
    costs = (unknown_cost(finding, report) for finding in report.told)
    unknown = [words for words in costs if words and not words.startswith(NO_TIME)]
    absent = missing(report)
    if "recording" in kinds:
        wants = [words for words in unknown if "profiler trace" in words]
        command = f"tracelens run --trace -- {program(report)}" if wants else ""
        return _made([], len(wants), command)
    compiles = bool(kinds - _NOT_COMPILED - _MACHINE or report.tables.get("regions"))
    settings: dict[str, list[str]] = {}
    for switch in (*absent.by_switch, *(words.partition("needs ")[2] for words in unknown)):
        for name, value in settings_of(switch):
            if compiles or not name.startswith("TORCH"):
                settings.setdefault(name, []).extend(value.split(","))
    unplaced = _unplaced(report, kinds)
    if unplaced:
        settings.setdefault("TORCH_LOGS", []).extend([_GENERATED, _LINES])
    if settings:
        for name, value in recorded(kinds):
            settings.setdefault(name, []).append(value)
    for name in _advised(report) & settings.keys():
        del settings[name]
    codes = absent.codes if settings else []
    return _made(
        codes,
        len(unknown),
        f"{merged(settings)} {program(report)} > run.log 2>&1" if settings else "",
        unplaced,
    )


def recorded(kinds: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the settings that show what the log has: its evidence is to be in the next one too."""
    for kind in kinds:
        if kind in _BY_NAME:
            yield "TORCH_LOGS", kind
        elif kind in _BY_SWITCH:
            yield _BY_SWITCH[kind]


def program(report: Report) -> str:
    """Return how the user's program is run, where stacks of findings begin in one script alone."""
    scripts = {script for finding in report.findings for script in _scripts(finding.data)}
    found = next(iter(scripts)) if len(scripts) == 1 else ""
    return f"python {found}" if found else _PROGRAM


def _scripts(data: dict[str, Any]) -> Iterator[str]:
    """Yield the script that a stack of calls began in, if it is one that can be named."""
    stack = data.get("stack")
    for line in stack[:1] if isinstance(stack, list | tuple) else ():
        if not isinstance(line, dict) or line.get("function") != "<module>":
            continue
        file = line.get("file")
        if isinstance(file, str) and _PLAIN.match(file) and not _is_library(file):
            yield file.rpartition("/")[2] if _HIDDEN.search(file) else file


def _is_library(file: str) -> bool:
    return any(part in file for part in _LIBRARY)


def _advised(report: Report) -> set[str]:
    """Return the variables that findings tell to set to something else."""
    texts = [advice.env for finding in report.told for advice in finding.advice if advice.env]
    return {name for text in texts for name, _ in settings_of(text)}


def _unplaced(report: Report, kinds: set[str]) -> int:
    """Return how many findings about generated code have no line because no graph was logged."""
    if _GENERATED not in kinds or kinds & _HAVE_LINES:
        return 0
    return sum(f.code in _PLACED and f.where is None for f in report.told)


def _made(codes: list[str], unknown: int, command: str, unplaced: int = 0) -> Again | None:
    if not command:
        return None
    # A log does not tell a switch that was off from one that had nothing to print.
    rules = f"{_words.plural(len(codes), 'rule')} had nothing to look at"
    parts = [f"{rules} (not recorded, or there was none)"] if codes else []
    if unknown:
        parts.append(f"{_words.plural(unknown, 'cost')} {'is' if unknown == 1 else 'are'} unknown")
    if unplaced:
        parts.append(
            f"{_words.plural(unplaced, 'finding')} {'has' if unplaced == 1 else 'have'} no line"
        )
    return Again(f"{_words.joined(parts)}. Record the run again with:", command)
