"""Findings and reports that are made up."""

from tracelens.report import Coverage, Environment, Finding, Report, Severity, Tool, Where


def finding(code: str = "GBR001", number: int = 1, **what: object) -> Finding:
    base: dict[str, object] = {
        "id": f"{code}-{number:06x}",
        "code": code,
        "name": "some-name",
        "severity": Severity.WARNING,
        "title": "a title",
        "message": "",
        "where": Where(file="/home/ana/proj/train.py", line=7, function="step"),
    }
    return Finding.model_validate(base | what)


def report(*findings: Finding, **environment: str | None) -> Report:
    coverage = Coverage(
        lines=0, understood_lines=0, known_lines=0, program_lines=0, unread_lines=0, share=1.0
    )
    return Report(
        tool=Tool(version="0"),
        inputs=(),
        environment=Environment.model_validate(environment),
        coverage=coverage,
        verdicts=(),
        findings=findings,
    )
