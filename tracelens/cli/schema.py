"""``tracelens schema``: the contracts of report.json, of comparisons, and of the settings."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._terminal import emit
from tracelens.errors import UsageError, closest

__all__ = ["schema"]


class Contract(StrEnum):
    """What has a schema."""

    REPORT = "report"
    COMPARISON = "comparison"
    SETTINGS = "settings"


@app.command()
def schema(
    of: Annotated[
        str,
        typer.Argument(
            metavar="report|comparison|settings",
            help="report.json, `compare -f json`, or [tool.tracelens].",
            show_default=False,
        ),
    ] = Contract.REPORT.value,
) -> None:
    """Print the JSON Schema of report.json, of a comparison, or of a project's settings."""
    names = [one.value for one in Contract]
    if of not in names:
        hint = closest(of, names, f"one of {', '.join(names)}")
        raise UsageError(f"nothing called {of!r} has a schema", hint=hint)
    if of == Contract.SETTINGS:
        from tracelens.config import Config

        found = Config.model_json_schema() | {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "[tool.tracelens]",
        }
    elif of == Contract.COMPARISON:
        from tracelens.report.compare import Comparison

        found = Comparison.model_json_schema(mode="serialization")
    else:
        from tracelens.report import Report

        found = Report.model_json_schema(mode="serialization")
    emit(json.dumps(found, indent=2) + "\n")
