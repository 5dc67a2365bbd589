"""What to put into a child's environment so that it applies settings and tells about itself.

Nothing is installed in the child's Python: a folder of ours comes first on its ``PYTHONPATH``, and
the ``sitecustomize`` in there does what ``TRACELENS_LIVE`` asks for, then runs the one it hides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracelens.experiment import UNCHANGED, Knob, Value

__all__ = ["FOLDER", "SPEC", "Trace", "applied", "environment"]

#: What comes first on the path of a child's Python.
FOLDER = Path(__file__).parent / "inject"
#: The environment variable that says what to do in there.
SPEC = "TRACELENS_LIVE"


@dataclass(frozen=True)
class Trace:
    """When to profile: calls to let pass after the last compilation, then steps to take."""

    skip: int = 10
    steps: int = 3
    #: Seconds after which the profiler is stopped at the next step.
    seconds: float = 30.0


def environment(
    knob: Knob = UNCHANGED,
    folder: Path | None = None,
    *,
    base: Mapping[str, str],
    steps: bool = True,
    sync: bool = False,
    trace: Trace | None = None,
    logs: Sequence[str] = (),
    onednn: str = "",
    silent: Mapping[str, Value] | None = None,
    lively: bool = False,
    enough: Mapping[str, Any] | None = None,
    outputs: bool = False,
    sizes: bool = False,
    turns: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Return the whole environment of a child.

    Args:
        knob: What to change: its environment variables, torch settings, arguments of
            ``torch.compile``.
        folder: Where every Python process that imports torch writes ``process-PID.jsonl``, which
            :mod:`tracelens.live.steps` reads; None for nowhere.
        base: The environment to start from.
        steps: Whether to time the outermost calls of compiled callables.
        sync: Whether to wait for the accelerator at both ends of a call.
        trace: Profile some steps into ``trace-PID.json.gz`` in ``folder``.
        logs: Names for ``TORCH_LOGS``, in addition to what it holds; those that the child's torch
            does not know are left out.
        onednn: What ``ONEDNN_VERBOSE`` becomes where the child's oneDNN knows more than numbers.
        silent: Torch settings besides those of ``knob``, which nobody misses where they do not
            exist.
        lively: Whether what is written to a pipe is passed on line by line, as on a terminal.
        outputs: Whether to tell what the first calls of compiled callables return.
        enough: When to leave ``enough-PID`` in ``folder``, see :mod:`tracelens.live.early`.
        turns: With whom to take turns, see :mod:`tracelens.live.turns`.
        sizes: Whether to note how the first dimension of a callable's first tensor changes.
    """
    spec = {
        "folder": str(folder.absolute()) if folder else None,
        "config": dict(knob.config),
        "env": dict(knob.env),
        "compile": dict(knob.compile),
        "layout": knob.layout,
        "optimizer": dict(knob.optimizer),
        "call": dict(knob.call),
        "steps": steps,
        "sync": sync,
        "trace": asdict(trace) if trace else None,
        "logs": list(logs),
        "onednn": onednn,
        "silent": dict(silent or {}),
        "lively": lively,
        "outputs": outputs,
        "enough": dict(enough) if enough else None,
        "sizes": sizes,
        "turns": dict(turns) if turns else None,
    }
    path = [str(FOLDER), *filter(None, [base.get("PYTHONPATH", "")])]
    added = {SPEC: json.dumps(spec), "PYTHONPATH": os.pathsep.join(path)}
    return applied(knob, base) | added


def applied(knob: Knob, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment ``base`` with the variables of ``knob`` set and removed."""
    changed = {name: value for name, value in knob.env.items() if value is not None}
    kept = {name: value for name, value in base.items() if name not in knob.env}
    return kept | changed
