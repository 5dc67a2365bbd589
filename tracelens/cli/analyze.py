"""``tracelens analyze``: read logs and say what the rules find."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._catalogue import complete_rule
from tracelens.cli._output import (
    FormatOption,
    MaxCharsOption,
    OutputOption,
    Plan,
    QuietOption,
    RedactOption,
    VerboseOption,
)
from tracelens.cli._terminal import Progress, say
from tracelens.errors import SourceError, UsageError

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.report import Report

__all__ = ["analyze"]

SAMPLE = "aarch64-bf16-linear.log"


def _words(values: list[str] | None) -> tuple[str, ...]:
    """Split repeated, comma-separated values."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    return tuple(part for part in parts if part)


def _rules(help_text: str, *names: str) -> typer.models.OptionInfo:
    """Return an option whose values are rules."""
    option: typer.models.OptionInfo = typer.Option(
        *names, metavar="RULES", help=help_text, autocompletion=complete_rule, show_default=False
    )
    return option


@app.command()
def analyze(
    ctx: typer.Context,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="Files (.gz, .xz, .zst too), directories, globs, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    output: OutputOption = None,
    fmt: FormatOption = None,
    select: Annotated[
        list[str] | None,
        _rules("Ask only these rules: codes, prefixes or names, comma separated.", "--select"),
    ] = None,
    extend_select: Annotated[
        list[str] | None, _rules("Ask these too, besides the selected ones.", "--extend-select")
    ] = None,
    ignore: Annotated[
        list[str] | None, _rules("Keep the findings of these as ignored.", "--ignore")
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="error|warning|info|never",
            help="Exit 1 on a finding of this severity or worse.  [default: never]",
        ),
    ] = None,
    require: Annotated[
        list[str] | None, _rules("Exit 1 when the evidence for these is absent.", "--require")
    ] = None,
    fail_on_absent: Annotated[
        bool | None,
        typer.Option("--fail-on-absent", help="Exit 1 when the evidence for any rule is absent."),
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option("--strict", help="Exit 2 when a text was refused by its grammar."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="REPORT.json", help="Ignore what this report has already, name what is fixed."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--as", metavar="KIND", help="Read the input as this log kind, unmarked."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Analyze the log that ships with tracelens.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes that may share one large file.  [default: 1]"),
    ] = None,
    redact: RedactOption = None,
    max_chars: MaxCharsOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read logs and say what is slow, where, and what to set.

    A rule whose evidence is not in the input is absent: the report names the switch to set.
    """
    from tracelens.cli._gate import exit_code
    from tracelens.config import load

    if bool(inputs) is sample:
        what = "--sample is an input of its own" if sample else "no input"
        raise UsageError(what, hint="tracelens analyze FILE, or tracelens analyze --sample")
    options = {
        "select": _words(select),
        "extend-select": _words(extend_select),
        "ignore": dict.fromkeys(_words(ignore), "ignored on the command line"),
        "fail-on": fail_on,
        "fail-on-absent": fail_on_absent,
        "require": _words(require),
        "strict": strict,
        "redact": redact,
        "max-chars": max_chars,
        "jobs": jobs,
    }
    config = load(Path.cwd()).updated(options)
    plan = Plan.of(output or (), fmt, quiet=quiet, inputs=inputs or ())
    with contextlib.chdir(_samples() if sample else Path.cwd()):
        report = _report(inputs or [SAMPLE], config, kind)
    if baseline is not None:
        report = _compared(report, baseline)
    plan.write(report, ctx.obj, max_chars=config.max_chars, redact=config.redact, verbose=verbose)
    raise typer.Exit(exit_code(report, config))


def _report(paths: list[str], config: Config, kind: str | None) -> Report:
    from tracelens import engine, grammars
    from tracelens.cli._cache import parser_cache
    from tracelens.source.files import expand

    grammars.cache_folder = parser_cache()

    asked = {rule.code for rule in engine.select_rules(config.selected)}
    engine.select_rules(config.ignore)
    for rule in engine.select_rules(config.require) if config.require else ():
        if rule.code not in asked:
            raise UsageError(f"--require: {rule.code} {rule.name} is not among the selected rules")
    files = expand(tuple(paths))
    progress = Progress.on_terminal(files)
    try:
        return engine.analyze(
            *files,
            select=config.selected,
            ignore=config.ignore,
            kind=kind,
            jobs=config.jobs,
            progress=progress,
        )
    finally:
        if progress is not None:
            progress.clear()


def _compared(report: Report, path: str) -> Report:
    from tracelens import baseline, saved

    report, fixed = baseline.hide_known(report, saved.load(path), Path(path).name)
    for finding in fixed:
        say(f"fixed since {Path(path).name}: {finding.id} {finding.title}")
    return report


def _samples() -> Path:
    """Return the folder of the log that ships with the package: in a wheel, or in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "samples", package.parent / "fixtures" / "logs" / "samples"):
        if (folder / SAMPLE).is_file():
            return folder
    raise SourceError(f"{SAMPLE} is missing from this installation")
