"""The JSON format: the report itself, as ``tracelens schema`` describes it."""

from __future__ import annotations

from tracelens.render import Options, Renderer
from tracelens.report import Report

__all__ = ["Json"]


class Json(Renderer):
    """The report as it is kept on disk: every other format is made from it."""

    name = "json"
    suffixes = (".json",)
    redacts = False

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return the report's JSON, redacted only on request."""
        wanted = cls.redacts if options.redact is None else options.redact
        if not wanted:
            return report.to_json()
        from tracelens.render._redact import redact  # noqa: PLC0415 -- costly, seldom needed

        return redact(report, options.redact_words, wanted)[0].to_json()
