"""``tracelens schema``: the contract of report.json."""

from __future__ import annotations

import json

from tracelens.cli._app import app
from tracelens.cli._terminal import emit

__all__ = ["schema"]


@app.command()
def schema() -> None:
    """Print the JSON Schema of report.json."""
    from tracelens.report import Report

    emit(json.dumps(Report.model_json_schema(mode="serialization"), indent=2) + "\n")
