"""The JUnit format: a test case for each rule and finding, for services that show tests."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tracelens.late import late
from tracelens.render import Options, Renderer, _words
from tracelens.render._places import Places
from tracelens.render._prepare import prepare
from tracelens.render._strings import elide, one_line
from tracelens.report import Finding, Outcome, Report, Severity, Verdict

__all__ = ["Junit"]

#: Evidence lines of a failure, and characters of each.
MOST, LINE = 6, 300
#: What XML 1.0 cannot hold, even escaped.
_ILLEGAL = late("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Junit(Renderer):
    """Errors and warnings fail, notes pass with their text, absent evidence is skipped."""

    name = "junit"
    suffixes = (".xml",)

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return one suite with a case for each finding, and for each rule without one."""
        _, report, _ = prepare(report, options, cls)
        places = Places(report)
        failing = [finding for finding in report.told if finding.severity is not Severity.INFO]
        cases = [_finding(finding, places) for finding in failing]
        failed = {finding.code for finding in failing}
        cases += [_rule(one, report) for one in report.verdicts if one.code not in failed]
        for pack in report.broken_packs:
            case = Element("testcase", classname="tracelens.packs", name=_text(pack.distribution))
            SubElement(case, "error", message=_text(pack.what, LINE))
            cases.append(case)
        root = Element("testsuites", _counts(cases))
        suite = SubElement(root, "testsuite", _counts(cases))
        suite.extend(cases)
        indent(root)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _counts(cases: list[Element]) -> dict[str, str]:
    count = {what: sum(case.find(tag) is not None for case in cases) for what, tag in _TAGS.items()}
    totals = {name: str(value) for name, value in count.items()}
    return {"name": "tracelens", "tests": str(len(cases)), **totals, "time": "0"}


_TAGS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _finding(finding: Finding, places: Places) -> Element:
    place = places.of(finding)
    case = Element(
        "testcase",
        classname=f"tracelens.{_text(finding.code)}",
        name=_text(f"{finding.name} {finding.run}/{finding.id}"),
        file=_text(place.path),
        line=str(place.line),
        time="0",
    )
    title = _text(finding.title, LINE)
    failure = SubElement(case, "failure", message=title, type=finding.severity.value)
    failure.text = _ILLEGAL.sub("", "\n".join(_body(finding)))
    return case


def _body(finding: Finding) -> Iterator[str]:
    if finding.where:
        yield str(finding.where)
    if _words.costs(finding):
        yield _words.costs(finding)
    yield elide(finding.message, 4 * LINE)
    for line in finding.evidence[:MOST]:
        yield f"{line.input}:{line.line}: {elide(one_line(line.text), LINE)}"
    for item in finding.promising:
        pasted = [part for part in (item.setting, item.env, item.code) if part]
        yield "\n".join([f"{item.label}: {_words.advice(item)}", *pasted])


def _rule(verdict: Verdict, report: Report) -> Element:
    where = f"tracelens.{_text(verdict.code)}"
    case = Element("testcase", classname=where, name=_text(verdict.name), time="0")
    if verdict.verdict is Outcome.CRASHED:
        SubElement(case, "error", message=_text(verdict.reason, LINE), type="crashed")
    elif verdict.verdict is Outcome.ABSENT:
        needs = ", ".join(verdict.needs)
        why = f"{verdict.reason or 'no evidence'}{f'; record with {needs}' if needs else ''}"
        SubElement(case, "skipped", message=_text(why, LINE))
    elif said := [f for f in report.findings if f.code == verdict.code]:
        lines = [_text(f"{f.severity}: {f.title} ({_why(f)})", LINE) for f in said]
        SubElement(case, "system-out").text = "\n".join(lines)
    return case


def _why(finding: Finding) -> str:
    silent = finding.ignored or finding.suppressed_by or finding.severity is Severity.NONE
    if silent:
        return _words.silenced(finding)
    return f"follows from {finding.explained_by}" if finding.explained_by else "below a warning"


def _text(value: str, most: int = 500) -> str:
    return elide(_ILLEGAL.sub("", one_line(value)), most)
