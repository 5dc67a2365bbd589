"""No function of ours, in whatever stage, is called more often than the input grows.

``test_growth`` asks the rules; here all that an analysis does is counted: reading, joining, asking
the rules, the report. What grows is named in each shape, since what is searched for row by row is
seen only where there are many of just that.
"""

from __future__ import annotations

import cProfile
import pstats
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.growing import EVENTS, FIXTURES, TRACES, compilations, events, text_of
from tracelens.engine import analyze

#: Fewer calls than this say nothing about growth.
MANY = 4_000
#: What four times the input may cost; what is quadratic costs sixteen times as much.
MOST = 7.0
#: Copies of the smaller input, and of structured logs, which are longer.
FEW = 25
STRUCTURED = {"orders": 20, "twins": 3}

DYNAMO = "V1120 12:{copy:04d}.000000 100 torch/_dynamo/guards.py:1] [{frame}/{entry}] [__{kind}] "
LIMIT = "W1120 12:{copy:04d}.000000 100 torch/_dynamo/convert_frame.py:906] [{frame}/8] "
CACHE = "I1120 12:{copy:04d}.000000 100 torch/_inductor/codecache.py:1] [{frame}/0] "


def clock(copy: int) -> str:
    """Return minutes and seconds."""
    return f"{copy // 60 % 60:02d}:{copy % 60:02d}"


def lines(prefix: str, text: str, copy: int, **where: object) -> Iterator[str]:
    """Yield the lines of one record behind its prefix."""
    front = prefix.replace("{copy:04d}", clock(copy)).format(**where)
    yield from (f"{front}{line}\n" for line in text.split("\n"))


def recompiled(copy: int, line: int, function: str) -> Iterator[str]:
    """Yield eight recompiles of one function, and the limit that they hit."""
    file = "/home/ana/proj/model.py"
    for entry in range(1, 8):
        text = (
            f"Recompiling function {function} in {file}:{line}\n"
            "    triggered by the following guard failure(s):\n"
            f"    - {entry - 1}/{entry - 1}: tensor 'L['x_{copy}']' size mismatch at index 0. "
            f"expected {entry + 3}, actual {entry + 4}"
        )
        yield from lines(DYNAMO, text, copy, frame=copy, entry=entry, kind="recompiles")
    text = (
        "torch._dynamo hit config.recompile_limit (8)\n"
        f"   function: '{function}' ({file}:{line})\n"
        f"   last reason: {copy}/7: tensor 'L['x_{copy}']' size mismatch at index 0. "
        "expected 10, actual 11"
    )
    yield from lines(LIMIT, text, copy, frame=copy)


def broken(copy: int, line: int, function: str) -> Iterator[str]:
    """Yield a graph break below two modules, and the guards of the frame."""
    file = "/home/ana/proj/model.py"
    text = (
        f"Graph break in user code at {file}:{line}\n"
        "Graph Break Reason: Attempted to call function marked as skipped\n"
        "  Explanation: Dynamo does not know how to trace the builtin `print`.\n"
        "  Hint: Remove the call.\n"
        "  Developer debug context: module: builtins, qualname: print, skip reason: <missing>\n"
        "User code traceback:\n"
        f'  File "{file}", line 9, in forward\n'
        f"    x = self.part_{copy}(x)\n"
        '  File "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1775, '
        "in _call_impl\n"
        "    return forward_call(*args, **kwargs)\n"
        f'  File "{file}", line {line}, in {function}\n'
        f"    print(x.shape, {copy})"
    )
    yield from lines(DYNAMO, text, copy, frame=copy, entry=0, kind="graph_breaks")
    children = "\n".join(
        f"| +- TYPE_MATCH: ___check_type_id(L['self']._modules['part_{copy}'], {copy + at}), "
        f"type=<class 'model.Part'>  # x = self.part_{copy}(x)  # proj/model.py:9 in forward"
        for at in range(3)
    )
    tree = f"GUARDS:\n\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n{children}\n"
    yield from lines(DYNAMO, tree, copy, frame=copy, entry=0, kind="guards")


def looked_up(copy: int) -> Iterator[str]:
    """Yield two questions to the cache of graphs."""
    for at in range(2):
        key = f"f{copy:07d}{at}".replace("8", "a").replace("9", "b").replace("1", "c") * 5
        yield from lines(CACHE, f"fx graph cache miss for key {key}", copy, frame=copy)
    text = "compile_threads set to 1 via env"
    front = CACHE.replace(" [{frame}/0]", "")
    yield from lines(front, text, copy, frame=copy)


#: What is another one in each copy.
SHAPES: dict[str, Callable[[int], Iterator[str]]] = {
    "functions that are recompiled": lambda n: recompiled(n, 10 * n + 7, f"step_{n}"),
    "frames of one function that is recompiled": lambda n: recompiled(n, 7, "step"),
    "lines at which the graph breaks": lambda n: broken(n, 10 * n + 7, f"forward_{n}"),
    "graph breaks at one line": lambda n: broken(n, 7, "forward"),
    "questions to the cache": looked_up,
    "ranks": lambda n: (f"[rank{n}]:{line}" for line in broken(0, 7, "forward")),
    "programs in one log": lambda n: (
        line.replace(" 100 torch/", f" {1000 + n} torch/")
        for line in [*broken(n, 7, "forward"), f"epoch {n} is done\n"]
    ),
}


def counted(path: Path) -> Counter[tuple[str, int, str]]:
    """Return how often each function was called while ``path`` was analyzed."""
    profile = cProfile.Profile()
    profile.enable()
    analyze(str(path))
    profile.disable()
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return Counter({key: value[1] for key, value in stats.items()})


def grows_as_its_input(made: Callable[[int], str], few_copies: int, path: Path) -> None:
    """Hold what is called for some copies of something against four times as many."""
    found = []
    for copies in (2, few_copies, 4 * few_copies):  # the first for what is imported and remembered
        path.write_text(made(copies), encoding="utf-8")
        found.append(counted(path))
    _, few, many = found
    grown = {
        f"{Path(file).name}:{line} {function}": (few[file, line, function], count)
        for (file, line, function), count in many.items()
        if count > MANY
        and count > MOST * max(few[file, line, function], MANY / 4 / MOST)
        and not re.search(r"importlib|/re/|enum\.py", file)
    }
    assert grown == {}
    assert sum(many.values()) < 5.5 * sum(few.values())


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_input_costs_four_times_the_calls(shape: str, tmp_path: Path) -> None:
    def made(copies: int) -> str:
        return "".join(line for copy in range(copies) for line in SHAPES[shape](copy))

    grows_as_its_input(made, FEW, tmp_path / "run.log")


@pytest.mark.parametrize("log", STRUCTURED)
def test_four_times_a_structured_log_costs_four_times_the_calls(log: str, tmp_path: Path) -> None:
    text = text_of(next((FIXTURES / "logs/torch_trace" / log).glob("dedicated_log_*")))

    def made(copies: int) -> str:
        return "".join(line for copy in range(copies) for line in compilations(text, copy))

    grows_as_its_input(made, STRUCTURED[log], tmp_path / "dedicated_log_torch_trace_grown.log")


@pytest.mark.parametrize("how", EVENTS)
@pytest.mark.parametrize("trace", TRACES)
def test_four_times_a_trace_costs_four_times_the_calls(
    trace: str, how: str, tmp_path: Path
) -> None:
    path, few = TRACES[trace]
    grows_as_its_input(lambda n: events(FIXTURES / path, n, how), few, tmp_path / "trace.json")
