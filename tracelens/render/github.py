"""The format of GitHub Actions: annotations at the lines of the change under review."""

from __future__ import annotations

from tracelens.render import Options, Renderer, _words
from tracelens.render._places import Places
from tracelens.render._prepare import prepare
from tracelens.render._strings import elide, one_line
from tracelens.report import Finding, Report, Severity

__all__ = ["Github"]

#: GitHub shows ten of a step.
MOST = 10
#: Characters of an annotation's title, and of its text.
TITLE, TEXT = 200, 1_000
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class Github(Renderer):
    """Workflow commands for the ten findings that matter most, then the result in a line."""

    name = "github"

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return one command for each of the first ten causes, errors and the costliest first."""
        _, report, _ = prepare(report, options, cls)
        places = Places(report)
        lines = [_command(finding, places) for finding in report.told[:MOST]]
        more = len(report.told) - MOST
        tail = f" ({more} not annotated)" if more > 0 else ""
        result = f"tracelens: {_words.headline(report)}{tail} in {_words.inputs(report.inputs)}"
        return "\n".join([*lines, one_line(result)]) + "\n"


def _command(finding: Finding, places: Places) -> str:
    place = places.of(finding)
    facts = [_words.costs(finding), _words.seen(finding)]
    said = [finding.title, ", ".join(fact for fact in facts if fact)]
    said += [_words.advice(item) for item in finding.advice[:1]]
    message = "\n".join(one_line(part) for part in said if part.strip())
    title = elide(f"{finding.code} {finding.name}", TITLE)
    line = f",line={place.line}" if place.has_line else ""
    properties = f"file={_property(place.path)}{line},title={_property(title)}"
    return f"::{_COMMANDS[finding.severity]} {properties}::{_data(elide(message, TEXT))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
