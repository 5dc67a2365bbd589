"""Advice that cannot help its run is not printed.

Its torch has left it behind or lacks it, what it sets is set already, or another finding of the
run advises the opposite.

Where nothing else would be left to do, it is said why instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tracelens.evidence import Evidence
from tracelens.late import late
from tracelens.report import Advice, Finding

__all__ = ["agreeing", "assigned", "fitted", "fitting"]

_RELEASE = late(r"\d{1,3}(?:\.\d{1,3}){1,2}")
#: ``torch._inductor.config.freezing = True``, and a variable with its value.
_SET = late(r"(?:^|; ?|\n)(torch\.[\w.]{1,120}) = ([^;\n#]{1,120})")
_VARIABLE = late(r"(?:^|\s)([A-Z][A-Z0-9_]{1,80})=(\S{1,200})")
#: Log kinds that show how a run was set.
_TELLING = frozenset({"inductor_debug", "torch_trace", "variables"})
#: What is only logged, and where, and what takes a list: one may be asked for after the other.
_OF_LOGS = late(
    r"TORCH_LOGS|TORCH_TRACE|\w*VERBOSE\w*|\w*DEBUG\w*|\w+_DIR|\w+_ROOT|PYTORCH_(?:CUDA_)?ALLOC_CONF"
)
#: Nothing but what torch logs; and the findings that are about how a log was recorded.
_LOGS = late(r"TORCH_LOGS=\"?([\w+,]{1,200})\"?")
_ABOUT_LOGS = "LOG"
#: Begins an advice for what comes of the one before it.
_AFTER = "If it is gone then"


def fitted(findings: Iterable[Finding], torch: str | None, evidence: Evidence) -> list[Finding]:
    """Return the findings of a run in the order in which they are told, with advice that can help.

    Args:
        findings: What the rules have said.
        torch: The version that the run names; None where it names none.
        evidence: What was read of the run.
    """
    settings = _settings(evidence)
    logged = frozenset(evidence.switched)
    held = (fitting(finding, torch, settings, logged) for finding in findings)
    return list(agreeing(sorted(held, key=lambda finding: finding.order)))


def fitting(
    finding: Finding,
    torch: str | None,
    settings: Mapping[str, str] | None = None,
    logged: frozenset[str] = frozenset(),
) -> Finding:
    """Return the finding without advice that cannot help in its run.

    Args:
        finding: What a rule has said.
        torch: The version that the run names, as ``2.13.0+cpu``; None where it names none.
        settings: What the logs show to be set: variables, and ``torch._inductor.config.freezing``.
        logged: What of ``TORCH_LOGS`` was on, as the records show.
    """
    release = _parts(torch)
    held = [advice for advice in finding.advice if not _is_past(advice, release)]
    held = [advice for advice in held if not _is_to_come(advice, release)] or held
    new: list[Advice] = []
    set_already = False
    for advice in held:
        set_already = (
            _is_set(advice, settings or {})
            or (_is_logged(advice, logged) and not finding.code.startswith(_ABOUT_LOGS))
            or (set_already and advice.text.startswith(_AFTER))
        )
        new += [] if set_already else [advice]
    return _with(finding, new or [_already(advice) for advice in held[:1]])


def agreeing(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings of which none advises to undo what one before it advises.

    Args:
        findings: Those of one run, in the order in which they are told.
    """
    told: dict[str, tuple[str, Finding]] = {}
    for finding in findings:
        if finding.suppressed_by or finding.ignored:
            yield finding
            continue
        against = {
            position: name
            for position, advice in enumerate(finding.advice)
            for name, value in assigned(advice).items()
            if name in told and told[name][0] != value
        }
        kept = [one for position, one in enumerate(finding.advice) if position not in against]
        for name, value in (item for one in kept for item in assigned(one).items()):
            told.setdefault(name, (value, finding))
        if against and not kept:
            position, name = min(against.items())
            kept = [_instead(finding.advice[position], name, *told[name])]
        yield _with(finding, kept)


def assigned(advice: Advice) -> dict[str, str]:
    """Return what an advice sets that changes how the program runs, by name."""
    found = [*_SET.findall(advice.setting or ""), *_VARIABLE.findall(advice.env or "")]
    return {name: _bare(value) for name, value in found if not _OF_LOGS.fullmatch(name)}


def _settings(evidence: Evidence) -> dict[str, str]:
    """Return what the logs of a run show to be set, where they say the same throughout."""
    if evidence.kinds.keys().isdisjoint(_TELLING):
        return {}
    from tracelens.dynamo.settings import Setting  # noqa: PLC0415 -- of logs that show settings

    values: dict[str, set[str]] = {}
    for row in evidence.table(Setting):
        values.setdefault(row.record.name, set()).add(_bare(row.record.value))
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1}


def _bare(value: str) -> str:
    return value.strip().strip("\"'")


def _parts(version: str | None) -> list[int]:
    found = _RELEASE.match(version or "")
    return [int(part) for part in found[0].split(".")] if found else []


def _bound(version: str | None) -> list[int]:
    """Return a bound as numbers; a word before it names other software."""
    return _parts(version) if _RELEASE.fullmatch(version or "") else []


def _is_past(advice: Advice, release: list[int]) -> bool:
    last = _bound(advice.until)
    return bool(release and last) and release[: len(last)] > last


def _is_to_come(advice: Advice, release: list[int]) -> bool:
    first = _bound(advice.since)
    return bool(release) and release[: len(first)] < first


def _is_set(advice: Advice, settings: Mapping[str, str]) -> bool:
    """Tell whether one of the ways to follow it was gone, wholly."""
    ways = (_SET.findall(advice.setting or ""), _VARIABLE.findall(advice.env or ""))
    return any(
        way and all(settings.get(name) == _bare(value) for name, value in way) for way in ways
    )


def _is_logged(advice: Advice, logged: frozenset[str]) -> bool:
    """Tell whether all that it does is to record what the log has."""
    wanted = _LOGS.fullmatch(advice.env or "") if not advice.setting else None
    return wanted is not None and logged.issuperset(wanted[1].split(","))


def _already(advice: Advice) -> Advice:
    what = advice.setting or advice.env
    text = f"This run has `{what}` already."
    if not assigned(advice):
        text = f"Record a longer part of the run: it has `{what}` already."
    return advice.model_copy(
        update={"text": text, "setting": None, "env": None, "code": None, "knob": None}
    )


def _instead(advice: Advice, name: str, value: str, by: Finding) -> Advice:
    """Return an advice that is for those who do not follow the other one."""
    lead = f"Not together with `{name}` = `{value}`, which {by.code} advises: "
    text = advice.text.removeprefix("Or ")
    first = text[:1].lower() if text[1:2].islower() else text[:1]
    return advice.model_copy(update={"text": f"{lead}{first}{text[1:]}"})


def _with(finding: Finding, advice: list[Advice]) -> Finding:
    """Return the finding with this advice; the first one is an alternative to nothing."""
    if tuple(advice) == finding.advice:
        return finding
    if advice and (rest := advice[0].text.removeprefix("Or ")) != advice[0].text:
        advice = [
            advice[0].model_copy(update={"text": f"{rest[0].upper()}{rest[1:]}"}),
            *advice[1:],
        ]
    return finding.model_copy(update={"advice": tuple(advice)})
