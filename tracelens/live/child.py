"""One run of one side: with everything logged, or without; its words, its end, its caches."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracelens import engine
from tracelens.errors import SourceError
from tracelens.live import conditions, injection, process, recording, run_cache, steps
from tracelens.live.early import Plenty
from tracelens.live.ending import LastWords, trouble
from tracelens.live.process import Enough, Finished, Limits
from tracelens.live.runs import Recorded, RunFailed
from tracelens.live.sides import caches_in, input_of
from tracelens.live.steps import Steps
from tracelens.live.workload import Side

__all__ = ["Child", "TooLong"]

#: Text kept of a recorded run's head and tail: a program may print gigabytes.
KEPT = 64 << 20
#: Seconds that a run has to end by itself when nobody wants its answer any more.
PATIENCE = 5.0
_ANALYSIS = threading.Lock()
#: Sets and dictionaries in the same order on both sides, unless the user has said another.
SAME_ORDER = {"PYTHONHASHSEED": "0"}


class TooLong(RunFailed):
    """The run was ended since it took longer than it may."""


@dataclass(frozen=True)
class Child:
    """What every run of a laboratory has in common."""

    #: The environment that programs start from.
    base: Mapping[str, str]
    #: Where our own files are: none of them is a part of the program.
    room: Path
    #: Bytes that a program may use; None is no limit.
    memory: int | None = None

    def recorded(
        self,
        side: Side,
        folder: Path,
        seconds: float,
        stopped: Callable[[], bool] | None = None,
        *,
        timed: bool = False,
        turns: Mapping[str, Any] | None = None,
    ) -> Recorded:
        """Run a side with everything logged, or only what is rare, and return the analysis.

        Args:
            side: What to run.
            folder: An empty one, which is removed.
            seconds: What it may take.
            stopped: Whether it is to end now, since nobody wants its answer any more.
            timed: Whether its steps are what is asked.
            turns: With whom it takes turns.

        Raises:
            RunFailed: The program did not end well, or wrote nothing that is known.
        """
        recording.prepare(folder)
        wishes = recording.Wishes(
            limits=Limits(seconds=seconds, memory=self.memory),
            knob=side.knob,
            log_head=KEPT,
            log_tail=KEPT,
            enough=Enough(stopped, PATIENCE) if stopped else None,
            timed=timed,
            turns=turns,
        )
        words = LastWords()
        try:
            with input_of(side) as given:
                done = recording.record(
                    side.workload.argv,
                    folder,
                    base={**SAME_ORDER, **self.base, **side.workload.env},
                    cwd=side.workload.cwd,
                    wishes=wishes,
                    show=words,
                    stdin=given,
                )
            _refuse(done.finished, words, seconds)
            if done.finished.reason == "enough":
                raise RunFailed("it was stopped")
            about, made, whole = conditions.told(folder)
            with _ANALYSIS:
                report = engine.analyze(str(folder))
        except SourceError as error:
            words_of_ours = "it ran, and neither torch nor oneDNN logged anything"
            raise RunFailed(words_of_ours) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        ours = str(self.room)
        sources = run_cache.hashes(path for path in done.sources if not path.startswith(ours))
        return Recorded(
            report, done.steps if timed else made, done.finished.seconds, about, sources, *whole
        )

    def plain(
        self,
        side: Side,
        folder: Path,
        seconds: float,
        *,
        cache: Path | None = None,
        plenty: Plenty | None = None,
        outputs: bool = False,
        turns: Mapping[str, Any] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> tuple[Steps, Finished]:
        """Run a side without logging, and return its steps and how it ended.

        Args:
            side: What to run.
            folder: An empty one, which is removed.
            seconds: What it may take.
            cache: Where its compile caches are; None leaves them where they always are.
            plenty: How much of the run is enough; None lets it run to its end.
            outputs: Whether the steps are to hold what the first calls return.
            turns: With whom it takes turns.
            stopped: Whether it is to end now, since nobody wants its answer any more.

        Raises:
            RunFailed: The program did not end well.
        """
        caches = caches_in(cache) if cache is not None else {}
        base = {**SAME_ORDER, **self.base, **side.workload.env, **caches}
        words = LastWords()
        with input_of(side) as given:
            finished = process.run(
                side.workload.argv,
                env=injection.environment(
                    side.knob,
                    folder,
                    base=base,
                    sync=True,
                    enough=plenty.spec if plenty else None,
                    outputs=outputs,
                    turns=turns,
                ),
                cwd=side.workload.cwd,
                limits=Limits(seconds=seconds, memory=self.memory),
                enough=plenty.noticed(folder) if plenty else None,
                stopped=stopped,
                on_output=words,
                stdin=given,
            )
        made = steps.read(folder)
        shutil.rmtree(folder, ignore_errors=True)
        _refuse(finished, words, seconds)
        return made, finished

    def new_cache(self, folder: Path) -> Path:
        """Return a folder for caches, empty but for torch's own headers, which all sides share.

        To compile them once per side would take longer than many a program.
        """
        shared = self.room / "headers"
        shared.mkdir(exist_ok=True)
        (folder / "inductor").mkdir()
        with contextlib.suppress(OSError):
            (folder / "inductor" / "precompiled_headers").symlink_to(shared)
        return folder


def _refuse(finished: Finished, words: LastWords, seconds: float) -> None:
    if failed := trouble(finished, words.text, seconds):
        raise (TooLong if finished.reason == "time" else RunFailed)(failed)
