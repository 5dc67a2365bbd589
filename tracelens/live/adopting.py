"""A recording as the unchanged run: what ``tracelens run`` has just recorded is not run at once.

So the first verdict needs one run, that of the change. It holds only where the program would be
recorded the same today; and where what the change ended must be certain, the unchanged program is
recorded once more, after every change has had its run.
"""

from __future__ import annotations

import json
from pathlib import Path

from tracelens import engine
from tracelens.errors import TracelensError
from tracelens.live import conditions
from tracelens.live.recording import Recording, Wishes
from tracelens.live.run_cache import RunCache, beside
from tracelens.live.runs import Recorded
from tracelens.live.workload import Workload

__all__ = ["adopted", "keep"]


def keep(recorded: Recording, wishes: Wishes, command: list[str], base: dict[str, str]) -> None:
    """Note of which program a recording is, where it may stand for its unchanged run."""
    plain = wishes.artifacts == "full" and wishes.trace is None and not wishes.keep_caches
    given = (recorded.folder / "stdin.gz").exists()
    if plain and not given and recorded.finished.code == 0 and recorded.processes:
        cache = RunCache(beside(recorded.folder / "report.json"), base, recorded.folder)
        cache.keep_recording(Workload(tuple(command)), recorded.sources)


def adopted(bundle: Path, workload: Workload, cache: RunCache) -> Recorded | None:
    """Return a bundle as a recorded run of a workload; None where it is not of this program."""
    sources = cache.recording(workload)
    if sources is None:
        return None
    try:
        facts = json.loads((bundle / "environment.json").read_text(encoding="utf-8"))
        seconds = float(facts["finished"]["seconds"])
        about, made, whole = conditions.told(bundle)
        return Recorded(engine.analyze(str(bundle)), made, seconds, about, sources, *whole)
    except (OSError, ValueError, KeyError, TypeError, TracelensError):
        return None
