"""Run one step of work many times, in the interpreter that has torch.

This file is started by its path and imports nothing of tracelens, which need not be installed
where torch is::

    python drive.py --program FILE              FILE defines setup(), which returns the step
    python drive.py --entry module:function     the function is the step; where it returns a
                                                callable, that is the step, and it was the set-up

What to do with the step says ``--mode``. By itself it follows ``TRACELENS_LIVE`` (see
``tracelens.live.injection``): a run that is asked to log makes a few steps, any other is timed, and
tells the time of its steps in the file of its process.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from types import ModuleType
from typing import Any, cast

if __name__ == "__main__":  # modules beside this file bear names of the standard library's
    sys.path.pop(0)

import torch
from torch.utils import _pytree

__all__ = ["compare", "main", "record", "step_of", "time"]

Step = Callable[[], Any]
#: Seconds per step, number of steps, CPU seconds per step.
Block = tuple[float, int, float]

#: Calls before anything is measured: they compile, pack weights and fill caches.
WARM_UP = 5
#: ... or until this many seconds have passed; the first may compile for longer, and is not alone.
LONG, LEAST = 1.0, 2
#: Share of the CPU time of the start that is measured for at least: starting once more costs more.
OF_START = 0.25
#: Times longer, by the wall clock, that measuring may take.
TIMES = 8.0
#: Seconds of a block of steps, at least: below, the clock's own cost would show.
BLOCK = 0.01


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and return the exit code."""
    options = _parser().parse_args(argv)
    sys.path.insert(0, str(Path.cwd()))  # as ``python -m`` has it
    step = step_of(_program(options.program) if options.program else _entry(options.entry))
    live = json.loads(os.environ.get("TRACELENS_LIVE") or "{}")
    mode = options.mode or ("time" if live.get("folder") and not _logs(live) else "record")
    if mode == "record":
        record(step, options.calls)
        return 0
    if mode == "compare":
        result: object = compare(step)
    else:
        seconds = max(options.seconds, OF_START * process_time())
        blocks = time(step, iterations=options.iterations, seconds=seconds)
        result = {"seconds": [seconds for seconds, _, _ in blocks]}
        if live.get("folder"):
            _tell(Path(live["folder"]), blocks)
    if options.result:
        Path(options.result).write_text(json.dumps(result), encoding="utf-8")
    return 0


def _logs(live: dict[str, Any]) -> bool:
    return bool(live.get("logs") or live.get("onednn") or live.get("trace"))


def _tell(folder: Path, blocks: list[Block]) -> None:
    """Append the blocks to the file of this process: seconds per step, how many, CPU seconds."""
    lines = [json.dumps(["step", seconds, number, cpu]) for seconds, number, cpu in blocks]
    with (folder / f"process-{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="drive.py", description="Run one step of work.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--program", metavar="FILE")
    what.add_argument("--entry", metavar="MODULE:FUNCTION")
    parser.add_argument("--mode", choices=("record", "time", "compare"))
    parser.add_argument("--calls", type=int, default=5, help="steps of a recorded run")
    parser.add_argument("--iterations", type=int, default=7, help="steps that are timed, at least")
    parser.add_argument("--seconds", type=float, default=0.5, help="time to spend, at least")
    parser.add_argument("--result", metavar="FILE", help="where to write results, as JSON")
    return parser


def _program(path: str) -> Callable[[], Any]:
    """Return ``setup`` of the program in ``path``."""
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    return _named(module, "setup")


def _entry(text: str) -> Callable[[], Any]:
    """Return the function that ``module:function`` names."""
    name, colon, function = text.partition(":")
    if not (name and colon and function):
        raise SystemExit(f"--entry {text}: not of the form module:function")
    return _named(importlib.import_module(name), function)


def _named(module: ModuleType, dotted: str) -> Callable[[], Any]:
    found: Any = module
    for part in dotted.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise SystemExit(f"{module.__name__} has no function {dotted}")
    return cast("Callable[[], Any]", found)


def step_of(function: Callable[[], Any]) -> Step:
    """Return the step: what ``function`` returns where that is callable, else the function."""
    result = function()
    return result if callable(result) else function


def record(step: Step, calls: int) -> None:
    """Call the step a few times; what is logged meanwhile is the record."""
    for _ in range(max(1, calls)):
        step()


def time(step: Step, *, iterations: int = 7, seconds: float = 0.5) -> list[Block]:
    """Return what a step takes, by the wall clock and of CPU time, per block of steps.

    At least ``iterations`` blocks, and as many more as fit in ``seconds`` of CPU time, since on a
    busy machine little is done in as many seconds of the wall clock; at most :data:`TIMES` as long
    by that. The results of work on a GPU are waited for.
    """
    number = _number(step)
    found: list[Block] = []
    turns = _turns()
    took = used = 0.0
    while len(found) < iterations or (used < seconds and took < TIMES * seconds):
        if turns is not None:
            turns.before()
        found.append(_block(step, number))
        took += found[-1][0] * number
        used += found[-1][2] * number
    return found


def _number(step: Step) -> int:
    """Warm up, and return how many steps make a block: by the one that was least disturbed."""
    began = perf_counter()
    took: list[float] = []
    while len(took) < LEAST or (len(took) < WARM_UP and perf_counter() - began < LONG):
        took.append(_block(step, 1)[0])
    return max(1, round(BLOCK / max(min(took), 1e-7)))


def _turns() -> Any:
    """Return what makes this run take turns with others, where it was injected; else None."""
    injected = sys.modules.get("tracelens_injected.turns")
    return injected.current[0] if injected is not None and injected.current else None


def _block(step: Step, number: int) -> Block:
    start, used = perf_counter(), process_time()
    for _ in range(number):
        step()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    cpu = (process_time() - used) / number
    return (perf_counter() - start) / number, number, cpu


def compare(step: Step) -> dict[str, float]:
    """Return how far a step's results are from what they ought to be: ``max_abs``, ``max_rel``.

    What they ought to be says the step's attribute ``reference``, a callable, where it has one;
    else it is what the step returns when nothing is compiled. The relative error is relative to the
    largest value of the tensor.
    """
    torch.manual_seed(0)
    found = _tensors(step())
    torch.manual_seed(0)
    reference = getattr(step, "reference", None)
    expected = _tensors(reference() if reference is not None else _eagerly(step))
    max_abs = max_rel = 0.0
    for one, other in zip(found, expected, strict=True):
        if not one.numel():
            continue
        error = float((one - other).abs().max())
        max_abs = max(max_abs, error)
        max_rel = max(max_rel, error / max(float(other.abs().max()), 1e-30))
    return {"max_abs": max_abs, "max_rel": max_rel}


def _tensors(tree: Any) -> list[Any]:
    """Return the tensors in a nested result, in double precision."""
    leaves = _pytree.tree_flatten(tree)[0]
    tensors = [leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return [(t.to_dense() if t.layout != torch.strided else t).double().cpu() for t in tensors]


def _eagerly(step: Step) -> Any:
    """Return what the step returns with every ``torch.compile`` switched off."""
    stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    if stance is not None:  # torch 2.6 and later
        with stance("force_eager"):
            return step()
    with torch._dynamo.config.patch(disable=True):
        return step()


if __name__ == "__main__":
    raise SystemExit(main())
