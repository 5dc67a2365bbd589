"""What a rule says about a log, as the snapshots of packs and of ours hold it."""

from __future__ import annotations

import json

from tracelens.experiment import Experiment
from tracelens.plugins.registry import discover
from tracelens.render import Options, Renderer
from tracelens.report import Finding, Report
from tracelens.rules import Rule

__all__ = ["told"]

#: Characters of one value that are shown.
MAX_VALUE = 600


def told(report: Report, rule: Rule) -> str:
    """Return all that a rule says: what users read, and what programs do."""
    return "".join([_text(report), *(_facts(finding, rule) for finding in report.findings)])


def _text(report: Report) -> str:
    """Return what the user reads, but for the tables: they belong to log kinds, not to rules."""
    text: type[Renderer] = next(r for r in discover("renderers", Renderer) if r.name == "text")
    report = report.model_copy(update={"tables": {}})
    return text.render(report, Options(verbose=True, redact=False))


def _facts(finding: Finding, rule: Rule) -> str:
    """Return what programs read of a finding: its data and cost, its stories, what is tried."""
    cost = finding.cost.model_dump(mode="json", exclude_none=True) if finding.cost else None
    lines = [f"\n== {finding.id}", *(f"{key}: {_json(v)}" for key, v in finding.data.items())]
    lines += [f"cost: {_json(cost)}"] if cost else []
    lines += [f"causes: {_json(list(story))}" for story in rule.causes(finding)]
    lines += [f"follows: {_json(list(story))}" for story in rule.follows(finding)]
    lines += [f"tries: {_tried(experiment)}" for experiment in rule.experiments(finding)]
    return "\n".join(lines) + "\n"


def _json(value: object) -> str:
    text = json.dumps(_rounded(value), ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]} ... {len(text):,} characters"


def _rounded(value: object) -> object:
    """Return a value with six digits of each fraction: the last ones are the machine's."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _tried(experiment: Experiment) -> str:
    knob = experiment.knob
    settings = ", ".join(f"{name}={value}" for name, value in knob.settings.items())
    wanted = f"{experiment.structure}, {experiment.time} {experiment.of}"
    results = ", other results" if knob.changes_results else ""
    return f"{knob.text} [{settings}]: {wanted}{results}"
