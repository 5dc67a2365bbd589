"""What to look for and when to fail: the options of every command that analyzes."""

from __future__ import annotations

from typing import Annotated

import typer

from tracelens.cli._catalogue import complete_rule

__all__ = [
    "BaselineOption",
    "EngineOption",
    "ExtendSelectOption",
    "FailOnAbsentOption",
    "FailOnOption",
    "IgnoreOption",
    "OneRunOption",
    "RecordedWithOption",
    "RequireOption",
    "RunOption",
    "SchedulerOption",
    "SelectOption",
    "StrictOption",
]


def _rules(help_text: str, *names: str) -> typer.models.OptionInfo:
    """Return an option whose values are rules."""
    option: typer.models.OptionInfo = typer.Option(
        *names, metavar="RULES", help=help_text, autocompletion=complete_rule, show_default=False
    )
    return option


SelectOption = Annotated[
    list[str] | None,
    _rules("Ask only these rules: codes, prefixes or names, comma separated.", "--select"),
]
ExtendSelectOption = Annotated[
    list[str] | None, _rules("Ask these too, besides the selected ones.", "--extend-select")
]
IgnoreOption = Annotated[
    list[str] | None, _rules("Keep the findings of these as ignored.", "--ignore")
]
FailOnOption = Annotated[
    str | None,
    typer.Option(
        metavar="error|warning|info|never",
        help="Exit 1 on a finding of this severity or worse.  [default: never]",
    ),
]
RequireOption = Annotated[
    list[str] | None, _rules("Exit 1 when the evidence for these is absent.", "--require")
]
FailOnAbsentOption = Annotated[
    bool | None,
    typer.Option("--fail-on-absent", help="Exit 1 when the evidence for any rule is absent."),
]
StrictOption = Annotated[
    bool | None,
    typer.Option("--strict", help="Exit 2 when a text was refused by its grammar."),
]
OneRunOption = Annotated[
    bool, typer.Option("--one-run", help="Take all inputs as of one process, or of one job.")
]
RunOption = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="NAME=PATH",
        help="A run by name, and a file, directory or glob of it. Repeatable, also for one name.",
        show_default=False,
    ),
]
RecordedWithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--recorded-with",
        metavar="ARTIFACTS",
        help="These were on (graph_breaks,recompiles,onednn_verbose ...): none in the log means "
        "that none happened.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="serial|process|dask",
        help="Who reads the inputs; the report is the same.  [default: process for many jobs]",
        show_default=False,
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        help="A Dask scheduler that you trust, whose workers read the inputs (--engine dask).",
        show_default=False,
    ),
]
BaselineOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.json",
        help="Ignore what this baseline or report has already, unless it is worse now; name what "
        "is fixed.",
    ),
]
