"""What holds for every format."""

from __future__ import annotations

import pytest

from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer
from tracelens.report import Report

FORMATS = [
    cls for cls in discover("renderers", Renderer) if cls.__module__.startswith("tracelens.")
]


def test_the_formats_are_found_by_name() -> None:
    found = {cls.name: cls for cls in FORMATS}
    assert {"html", "json", "markdown", "text"} <= set(found)
    assert found["markdown"].suffixes == (".md",)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda cls: cls.name)
def test_only_the_report_that_stays_here_shows_names(
    format_: type[Renderer], reports: dict[str, Report]
) -> None:
    text = format_.render(reports["recompiles"], Options())
    assert ("/home/ana/" in text) is (format_.name == "json")


@pytest.mark.parametrize("format_", FORMATS, ids=lambda cls: cls.name)
@pytest.mark.parametrize("options", [Options(), Options(verbose=True, redact=True)], ids=["", "v"])
def test_a_report_from_its_json_gives_the_same_bytes(
    format_: type[Renderer], options: Options, report: Report
) -> None:
    loaded = Report.model_validate_json(report.to_json())
    first = format_.render(report, options)
    assert first == format_.render(loaded, options)
    assert first == format_.render(report, options)
    assert first.endswith("\n") or (format_.name == "concise" and not report.told)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda cls: cls.name)
def test_names_are_replaced_on_request(format_: type[Renderer], reports: dict[str, Report]) -> None:
    for redact in (True, False):
        text = format_.render(reports["recompiles"], Options(redact=redact))
        assert ("/home/ana/" in text) is not redact
