"""The format of GitLab's code quality reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from tracelens.render import Options, Renderer, _words
from tracelens.render._places import Places
from tracelens.render._prepare import prepare
from tracelens.render._strings import elide, one_line
from tracelens.report import Finding, Report, Severity

__all__ = ["Gitlab", "fingerprint"]

#: GitLab's words for how bad it is.
_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


class Gitlab(Renderer):
    """What to act on, as an artifact of the kind ``codequality``."""

    name = "gitlab"
    suffixes = ("code-quality-report.json", ".codequality.json")

    @classmethod
    def render(cls, report: Report, options: Options) -> str:
        """Return one entry for each cause to act on."""
        _, report, _ = prepare(report, options, cls)
        places = Places(report)
        entries = []
        for finding in report.told:
            place = places.of(finding)
            entries.append(
                {
                    "description": elide(f"{finding.code}: {one_line(finding.title)}", 500),
                    "check_name": finding.name,
                    "fingerprint": fingerprint(finding, place.path),
                    "severity": _SEVERITY[finding.severity],
                    "location": {"path": place.path, "lines": {"begin": place.line}},
                    "content": {"body": "\n\n".join(_body(finding))},
                }
            )
        return json.dumps(entries, indent=2) + "\n"


def _body(finding: Finding) -> Iterator[str]:
    parts = (str(finding.where or ""), finding.message, _words.costs(finding))
    yield from (part for part in parts if part)
    yield from (_words.promised(item) for item in finding.promising)


def fingerprint(finding: Finding, path: str) -> str:
    """Return what tells a finding from all others of a report, without lines or counts."""
    function = (finding.where and finding.where.function) or ""
    text = "\0".join((finding.run, finding.id, path, function))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
