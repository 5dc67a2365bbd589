"""``tracelens bundle``: one file with all evidence, to attach or to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._analysis import analyzed, settings
from tracelens.cli._analysis_options import RecordedWithOption
from tracelens.cli._app import app
from tracelens.cli._loading import is_report
from tracelens.cli._shared_redact import SharedRedactOption, shared
from tracelens.cli._terminal import emit, say
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.render import Redact
    from tracelens.report import Report

__all__ = ["bundle"]

DEFAULT = "tracelens-bundle.zip"
#: What GitHub takes as an attachment, in bytes.
MAX_ATTACHED = 25 * 1000 * 1000


@app.command()
def bundle(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Logs, traces, a recording's directory, or one saved report.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE.zip", help="Where to write it.")
    ] = DEFAULT,
    logs: Annotated[
        bool | None,
        typer.Option(
            "--logs/--no-logs",
            help="Put the logs and traces into it.  [default: yes, but with --redact=LEVEL]",
        ),
    ] = None,
    recorded_with: RecordedWithOption = None,
    redact: SharedRedactOption = None,
) -> None:
    """Put the report, the logs it is made of and scripts that show its findings into one file.

    The same inputs give the same bytes. `analyze`, `compare`, `render` and `confirm` read it.
    """
    from tracelens.cli import _bundling
    from tracelens.cli._gate import installed_broken

    target = Path(output)
    if target.suffix != ".zip":
        raise UsageError(f"{output}: a bundle is a zip file", hint=f"-o {DEFAULT}")
    if any(target.exists() and Path(one).exists() and target.samefile(one) for one in inputs):
        raise UsageError(f"{output}: is an input as well; it would be overwritten")
    config = settings(
        select=None, extend_select=None, ignore=None, require=None, recorded_with=recorded_with
    )
    level = shared(redact, config.redact)
    with_logs = _with_logs(logs, level)
    report = _report(inputs, config)
    made = _bundling.made(
        report, beside(inputs), words=config.redact_words, logs=with_logs, redact=level
    )
    size = _bundling.write(target, made.files, redact=level)
    emit(f"written to {target}, {size / 1e6:.1f} MB: {made.contents}\n")
    if level:
        emit(
            f"names, paths or secrets replaced: {made.replaced:,}; "
            "look through it before you publish it\n"
        )
    else:
        emit("NOT redacted: names of users, hosts and directories are in it\n")
    if logs is None and not with_logs:
        say(f"the logs are left out: they are of no use without what --redact={level} replaces")
    for note in made.notes:
        say(note)
    if size > MAX_ATTACHED:
        say(f"GitHub takes files of up to {MAX_ATTACHED // 10**6} MB", hint="--no-logs")
    raise typer.Exit(installed_broken())


def _with_logs(logs: bool | None, level: Redact) -> bool:
    """Tell whether the logs belong to the bundle.

    Raises:
        UsageError: They are asked for, and so is a level that leaves nothing of them.
    """
    if logs and isinstance(level, str):
        raise UsageError(
            f"--logs: a log is of no use without what --redact={level} replaces",
            hint="--redact replaces names in logs, too",
        )
    return not isinstance(level, str) if logs is None else logs


def _report(inputs: list[str], config: Config) -> Report:
    """Return the one saved report that is given, or what the rules say about the logs."""
    from tracelens.report import saved

    if any(is_report(Path(one)) for one in inputs):
        if len(inputs) > 1:
            raise UsageError("a saved report is bundled by itself", hint="name its logs instead")
        return saved.load(inputs[0])
    return analyzed(inputs, config)


def beside(inputs: list[str]) -> Path:
    """Return the folder that a saved report may name its logs from."""
    first = Path(inputs[0])
    return first.parent if is_report(first) else Path()
