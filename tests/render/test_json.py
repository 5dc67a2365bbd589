"""The JSON format: the report, byte for byte."""

from __future__ import annotations

from tracelens.render import Options
from tracelens.render.json import Json
from tracelens.report import Report


def test_it_is_the_report(report: Report) -> None:
    assert Json.render(report, Options()) == report.to_json()


def test_it_is_redacted_on_request_only(reports: dict[str, Report]) -> None:
    text = Json.render(reports["reference"], Options(redact=True))
    assert Report.model_validate_json(text).findings[0].where is not None
    assert '"~/proj/seed.py"' in text
    assert "/home/ana/proj/seed.py" in Json.render(reports["reference"], Options())
