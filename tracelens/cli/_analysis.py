"""Read what was given and ask the rules, as settings and the command line say."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracelens.cli._terminal import Progress, say
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.report import Report

__all__ = ["Team", "analyzed", "compared", "named_runs", "settings", "words"]

#: The share by which what a baseline has may grow, unless the project's settings say otherwise.
TOLERANCE = 0.1


class Team(NamedTuple):
    """Who is to read, as the command line says."""

    engine: str | None = None
    scheduler: str | None = None
    jobs: int | None = None

    def check(self) -> None:
        """See that the options go together.

        Raises:
            UsageError: They do not.
        """
        if self.scheduler and self.engine not in {None, "dask"}:
            raise UsageError(f"--engine {self.engine} has no scheduler", hint="--engine dask")
        if self.scheduler and self.jobs:
            raise UsageError("--jobs are processes here, and a scheduler has workers of its own")
        if self.engine == "serial" and (self.jobs or 1) > 1:
            raise UsageError("--engine serial reads in one process", hint="leave --jobs out")


def settings(
    *,
    select: list[str] | None,
    extend_select: list[str] | None,
    ignore: list[str] | None,
    require: list[str] | None,
    recorded_with: list[str] | None = None,
    **others: Any,
) -> Config:
    """Return the project's settings with the options of the command line laid over them."""
    from tracelens.cli._environment import laid_over
    from tracelens.config import load

    options = {
        "select": words(select),
        "extend-select": words(extend_select),
        "ignore": dict.fromkeys(words(ignore), "ignored on the command line"),
        "require": words(require),
        "recorded-with": words(recorded_with),
        **{name.replace("_", "-"): value for name, value in others.items()},
    }
    return laid_over(load(Path.cwd())).updated(options)


def words(values: list[str] | None) -> tuple[str, ...]:
    """Split repeated, comma-separated values."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    return tuple(part for part in parts if part)


def named_runs(values: list[str] | None) -> dict[str, list[str]]:
    """Return the paths of each run that ``--run NAME=PATH`` names.

    Raises:
        UsageError: A value has no name or no path.
    """
    out: dict[str, list[str]] = {}
    for value in values or ():
        name, _, path = value.partition("=")
        if not name.strip() or not path:
            raise UsageError(f"--run {value}: no name or no path", hint="--run before=old.log")
        out.setdefault(name.strip(), []).append(path)
    return out


def analyzed(
    paths: list[str],
    config: Config,
    kind: str | None = None,
    *,
    one_run: bool = False,
    runs: dict[str, list[str]] | None = None,
    team: Team = Team(),  # noqa: B008 -- it is frozen
) -> Report:
    """Read the inputs and ask the rules, with a line of progress on a terminal."""
    from tracelens import engine
    from tracelens.source.places import expand

    asked = {rule.code for rule in engine.choose(config.selected)}
    engine.choose(config.ignore)
    for rule in engine.choose(config.require) if config.require else ():
        if rule.code not in asked:
            raise UsageError(f"--require: {rule.code} {rule.name} is not among the selected rules")
    files = expand(tuple(paths)) if paths else []
    gc.freeze()  # what is imported by now stays, and need not be looked through
    progress = Progress.on_terminal(files)
    try:
        report = engine.analyze(
            *files,
            select=config.selected,
            ignore=config.ignore,
            kind=kind,
            jobs=_jobs(files, config, team),
            engine=team.engine,
            scheduler=team.scheduler,
            one_run=one_run,
            runs=runs,
            recorded_with=config.recorded_with,
            progress=progress,
            remark=say,
        )
    finally:
        gc.unfreeze()
        if progress is not None:
            progress.clear()
    return _decided(report, config)


def _jobs(files: list[str], config: Config, team: Team) -> int:
    """Return how many processes are to share the work."""
    if team.engine == "serial" or team.scheduler:
        return 1
    if config.jobs is not None:
        return config.jobs
    from tracelens.fleet.cores import jobs_for
    from tracelens.source import size_of

    size = sum(size_of(path) or 0 for path in files)
    count = jobs_for(size, asked=team.engine is not None)
    if count < 2 or len(files) > 1 or team.engine is not None:
        return count
    from tracelens.copies import may_copy

    return count if may_copy() else 1  # starting interpreters would cost more than it gains


def _decided(report: Report, config: Config) -> Report:
    """Apply the project's ignores and severities; say which of them no longer make sense."""
    from datetime import datetime

    from tracelens.report.policy import applied

    for rule, reason in config.ignore.items():
        if not reason.strip():
            say(f"the ignore of {rule} has no reason")
    if not config.ignores and not config.severity:
        return report
    today = datetime.now().astimezone().date()
    done = applied(report, config.ignores, config.severity, today)
    for remark in done.remarks:
        say(remark)
    return done.report


def compared(report: Report, path: str, tolerance: float = TOLERANCE) -> Report:
    """Ignore what the baseline in ``path`` has already; say what is worse, and what is fixed."""
    from tracelens.report import known, saved

    name = Path(path).name
    done = known.compare(report, saved.load_baseline(path), name, tolerance)
    for finding, grown in done.worse:
        say(f"worse than in {name}: {finding.id} {finding.title} ({grown})")
    for entry in done.fixed:
        say(f"fixed since {name}: {entry.id} {entry.title}")
    for code in dict.fromkeys(finding.code for finding in done.unheard):
        say(f"{name} was made without the rule {code}, so its findings are new")
    for run in done.strangers:
        say(
            f"{name} is of another program than {run}, so everything in it is new",
            hint=f"tracelens baseline update {path} LOG accepts it",
        )
    return done.report
