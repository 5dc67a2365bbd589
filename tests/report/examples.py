"""The examples of docs/python.md: mypy reads them with everything else, and a test runs them."""

# ruff: noqa: T201, I001, E402
from __future__ import annotations


import tracelens

report = tracelens.analyze("run.log")
for finding in report.told:
    print(finding.severity, finding.code, finding.title, finding.where)


worst = [finding for finding in report.told if finding.severity is tracelens.Severity.ERROR]
lost = sum(finding.cost.ms or 0 for finding in worst if finding.cost is not None)
print(f"{len(worst)} errors cost {lost:.0f} ms")
for row in report.tables.get("primitives", []):
    print(row["primitive"], row["impl"], row["ms"])


from pathlib import Path

from tracelens.render import Options
from tracelens.render.markdown import Markdown

Path("report.json").write_text(report.to_json())
Path("report.md").write_text(Markdown.render(report, Options(max_chars=10_000)))


comparison = tracelens.compare("before.log", "after.log")
for entry in comparison.findings.worse:
    print(entry.code, [(change.name, change.before, change.after) for change in entry.changes])
for counter in comparison.counters:
    if counter.state == "worse":
        print(counter.name, counter.of, counter.values)
