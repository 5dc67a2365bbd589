"""What ``tracelens analyze`` does: read logs, and write what the rules find."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens.cli._analysis import Team, analyzed, compared, named_runs, settings
from tracelens.cli._output import Plan, shown
from tracelens.errors import SourceError, UsageError

if TYPE_CHECKING:
    from tracelens.cli._terminal import Terminal
    from tracelens.report import Report

__all__ = ["analyze_as_asked"]

SAMPLE = "aarch64-bf16-linear.log"


def analyze_as_asked(
    terminal: Terminal,
    inputs: list[str] | None,
    *,
    output: list[str] | None = None,
    fmt: str | None = None,
    select: list[str] | None = None,
    extend_select: list[str] | None = None,
    ignore: list[str] | None = None,
    fail_on: str | None = None,
    require: list[str] | None = None,
    fail_on_absent: bool | None = None,
    strict: bool | None = None,
    recorded_with: list[str] | None = None,
    one_run: bool = False,
    run: list[str] | None = None,
    baseline: str | None = None,
    kind: str | None = None,
    sample: bool = False,
    jobs: int | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    kernel: str | None = None,
    annotate: str | None = None,
    redact: bool | None = None,
    root: str = "",
    max_chars: int | None = None,
    verbose: bool = False,
    quiet: bool = False,
    open_: bool = False,
    split: bool = False,
    watch: bool = False,
) -> int:
    """Read logs, write the report, and return the exit code; the options are the command's."""
    from tracelens.cli._gate import exit_code

    runs = named_runs(run)
    if bool(inputs or runs) is sample:
        what = "--sample is an input of its own" if sample else "no input"
        raise UsageError(what, hint="tracelens analyze FILE, or tracelens analyze --sample")
    config = settings(
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        require=require,
        recorded_with=recorded_with,
        fail_on=fail_on,
        fail_on_absent=fail_on_absent,
        strict=strict,
        redact=redact,
        max_chars=max_chars,
        jobs=jobs,
    )
    if one_run and runs:
        raise UsageError("--one-run and --run contradict each other", hint="give one of them")
    team = Team(engine, scheduler, jobs)
    team.check()
    read = [*(inputs or ()), *(path for paths in runs.values() for path in paths)]
    if annotate is not None:
        from tracelens.cli import _annotate

        _annotate.check(annotate, read)
    silent = quiet or kernel is not None
    quietly = "" if kernel is not None else "concise"
    plan = Plan.of(output or (), fmt, quiet=silent, inputs=read, quietly=quietly)
    if watch:
        from tracelens.cli._rereading import begin, follow, state

        seen = state(read)
    with contextlib.chdir(_samples() if sample else Path.cwd()):
        given = [SAMPLE] if sample else inputs or []

        def again() -> Report:
            return analyzed(given, config, kind, one_run=one_run, runs=runs, team=team)

        report = begin(read, again) if watch and not sample else again()
    if baseline is not None:
        report = compared(report, baseline, config.baseline_tolerance)
    if open_:
        plan, page = plan.opening()
    plan.write(
        report,
        terminal,
        config,
        verbose=verbose,
        root=root,
        split=split,
    )
    if open_:
        shown(page)
    if watch:
        report = follow(
            report,
            read,
            again,
            lambda _, text: plan.show(text),
            seen,
        )
    if annotate is not None:
        from tracelens.cli import _annotate

        _annotate.annotate(report, annotate)
    if kernel is not None:
        from tracelens.render import Options
        from tracelens.render._kernel import kernel_text

        plan.show(kernel_text(report, kernel, Options(redact=config.redact)))
    return exit_code(report, config)


def _samples() -> Path:
    """Return the folder of the log that ships with the package: in a wheel, or in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "samples", package.parent / "fixtures" / "logs" / "samples"):
        if (folder / SAMPLE).is_file():
            return folder
    raise SourceError(f"{SAMPLE} is missing from this installation")
