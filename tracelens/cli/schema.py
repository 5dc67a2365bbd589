"""``tracelens schema``: the contracts of report.json, of comparisons, and of the settings."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._terminal import emit

__all__ = ["schema"]


class Contract(StrEnum):
    """What has a schema."""

    REPORT = "report"
    COMPARISON = "comparison"
    SETTINGS = "settings"


@app.command()
def schema(
    of: Annotated[
        Contract, typer.Argument(help="report.json, `compare -f json`, or [tool.tracelens].")
    ] = Contract.REPORT,
) -> None:
    """Print the JSON Schema of report.json, of a comparison, or of a project's settings."""
    if of is Contract.SETTINGS:
        from tracelens.config import Config

        found = Config.model_json_schema() | {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "[tool.tracelens]",
        }
    elif of is Contract.COMPARISON:
        from tracelens.report.compare import Comparison

        found = Comparison.model_json_schema(mode="serialization")
    else:
        from tracelens.report import Report

        found = Report.model_json_schema(mode="serialization")
    emit(json.dumps(found, indent=2) + "\n")
