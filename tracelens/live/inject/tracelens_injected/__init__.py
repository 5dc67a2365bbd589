"""What runs inside a recorded program: settings, logs, step times, a trace, facts.

Standard library only, Python 3.8 on, torch 2.1 on. Everything is guarded: where torch is not as
expected, something is not recorded, and the program runs as it would have.

What to do stands in the environment variable ``TRACELENS_LIVE`` as JSON; see
``tracelens.live.injection``.
"""

from __future__ import annotations

import json
import os
import stat
import sys

__all__ = ["begin"]


def begin(text: str) -> None:
    """Prepare this process for what ``text`` asks, to be done when torch is imported."""
    if not text:
        return
    spec = json.loads(text)
    if spec.get("lively") and stat.S_ISFIFO(os.fstat(1).st_mode):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    # Imported here: a Python that is not asked for anything pays nothing.
    from . import (
        about,
        around,
        compiles,
        enough,
        force,
        hooks,
        journal,
        layouts,
        logs,
        optimizers,
        outputs,
        settings,
        steps,
        tracing,
        turns,
    )

    hook = hooks.Hooks()
    book = journal.Journal(spec["folder"]) if spec.get("folder") else None
    settings.install(hook, spec.get("config") or {}, spec.get("compile") or {}, book)
    layout = layouts.Layout(spec["layout"]) if spec.get("layout") else None
    if layout is not None:
        layout.install(hook, book)
    if spec.get("optimizer"):
        optimizers.install(hook, spec["optimizer"], book)
    if spec.get("silent"):
        settings.install(hook, spec["silent"], {}, None)
    if spec.get("logs"):
        logs.install(hook, spec["logs"])
    if spec.get("onednn"):
        logs.install_onednn(hook, spec["onednn"])
    if book is not None:
        about.install(hook, book)
        held = force.Force(spec.get("config") or {}, spec.get("env") or {}, book)
        held.install(hook)
        compiles.install(hook, book, held)
        if spec.get("steps"):
            trace = tracing.Tracing(spec["trace"], book) if spec.get("trace") else None
            count = enough.Enough(spec["enough"], book) if spec.get("enough") else None
            sync = bool(spec.get("sync"))
            gate = turns.Turns(spec["turns"], book) if spec.get("turns") else None
            calls = around.Around(spec["call"], book) if spec.get("call") else None
            if calls is not None:
                calls.install(hook)
            steps.install(
                hook,
                book,
                trace=trace,
                sync=sync,
                enough=count,
                layout=layout,
                sizes=bool(spec.get("sizes")),
                around=calls,
                outputs=outputs.Outputs(book) if spec.get("outputs") else None,
                turns=gate,
            )
    hook.activate()
