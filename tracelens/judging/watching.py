"""What was watched in a run: for these logs, that nothing is there means that nothing happened.

An artifact counts as watched when the recording says that it was on, when the log itself shows it
(records of the artifact, the header of oneDNN, the value of a variable that somebody echoed), or
when the user says so. A log that was cut proves nothing by what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache

import msgspec

from tracelens.errors import UsageError, closest
from tracelens.evidence import Evidence
from tracelens.evidence.limits import Unread
from tracelens.logs.recording import LeftOut, Recorded
from tracelens.plugins import manifest

__all__ = [
    "TRACE",
    "Refused",
    "Watched",
    "artifacts",
    "artifacts_of",
    "check_names",
    "refused",
    "switch_of",
]

#: A switch as a log kind names it: ``TORCH_LOGS="guards,recompiles"``.
_SWITCH = re.compile(r"(?P<name>[A-Z_]{4,40})=\"?(?P<value>[^\" ]*)\"?$")
EXECUTIONS, CREATIONS, REFUSALS = "onednn_verbose", "onednn_create", "onednn_dispatch"
STRUCTURED, TRACE = "torch_trace", "chrome_trace"
#: What a structured log always carries of the frames that it tells of.
_TRACED = frozenset({STRUCTURED, "graph_breaks", "recompiles", "guards"})
_DYNAMO = frozenset({"graph_breaks", "recompiles", "guards", "graph_code", "graph", "graph_sizes"})
#: What torch prints as well for an artifact or a component at debug level.
_IMPLIED = {
    "recompiles_verbose": frozenset({"recompiles"}),
    "+dynamo": _DYNAMO | {"dynamo", "dynamic", "trace_source", "trace_call"},
    "+inductor": frozenset({"inductor", "post_grad_graphs", "pre_grad_graphs", "cudagraphs"}),
    "+dynamic": frozenset({"dynamic"}),
    "+all": _DYNAMO
    | {"+dynamo", "+inductor", "+dynamic", "dynamo", "inductor", "dynamic", "aot_graphs"}
    | {"post_grad_graphs", "pre_grad_graphs", "cudagraphs", "compiled_autograd"},
}
#: What oneDNN's switch shows: a level, or a list of words.
_ONEDNN = {
    "0": frozenset[str](),
    "none": frozenset[str](),
    "1": frozenset({EXECUTIONS}),
    "2": frozenset({EXECUTIONS, CREATIONS}),
    "all": frozenset({EXECUTIONS, CREATIONS, REFUSALS}),
    "profile": frozenset({EXECUTIONS}),
    "profile_exec": frozenset({EXECUTIONS}),
    "profile_create": frozenset({CREATIONS}),
    "dispatch": frozenset({REFUSALS}),
}
#: What a record type means by its switch: the least that shows it.
_SHOWN = {"all": REFUSALS, "2": CREATIONS}
_VARIABLES = "tracelens.logs.variables"
#: Of a kind that is counted, such as oneDNN's lines, one in so many may be torn.
TORN_AMONG = 1000


def artifacts(name: str, value: str) -> frozenset[str]:
    """Return what the variable ``name`` makes torch or oneDNN log."""
    words = [word.strip() for word in value.split(",")]
    if name == "TORCH_LOGS":
        found = frozenset(word.removeprefix("-") for word in words if word[:1] not in {"", "-"})
        found |= {"+all"} if "all" in found else frozenset()
        return found.union(*(_IMPLIED.get(word, ()) for word in found))
    if name in {"ONEDNN_VERBOSE", "DNNL_VERBOSE"}:
        return frozenset[str]().union(*(_ONEDNN.get(word, ()) for word in words))
    if name == "TORCH_TRACE":
        return _TRACED if value else frozenset()
    return frozenset({"mkl_verbose"}) if name == "MKL_VERBOSE" and value != "0" else frozenset()


@cache
def artifacts_of(switch: str) -> frozenset[str]:
    """Return what a switch, as a log kind names it, shows; empty for what cannot be watched."""
    match = _SWITCH.fullmatch(switch)
    if match is None:
        return frozenset()
    if match["name"] == "TORCH_TRACE":
        return frozenset({STRUCTURED})
    if match["name"] == "ONEDNN_VERBOSE":
        return frozenset({_SHOWN.get(match["value"], EXECUTIONS)})
    if match["name"] == "TORCH_LOGS":
        return frozenset(filter(None, match["value"].split(",")))
    return artifacts(match["name"], match["value"])


def _kinds_of(switch: str) -> frozenset[str]:
    """Return the log kinds of packs that a switch of theirs makes a program write."""
    logs = (log for log in manifest.current().logs if log.distribution)
    return frozenset(log.name for log in logs if log.switch == switch)


def switch_of(artifact: str) -> str:
    """Return the switch that makes torch or oneDNN log ``artifact``."""
    for log in manifest.current().logs:
        if artifact in {log.name, *artifacts_of(log.switch)}:
            return log.switch
    level = {REFUSALS: "all", CREATIONS: "2"}.get(artifact)
    return f"ONEDNN_VERBOSE={level}" if level else f'TORCH_LOGS="{artifact}"'


def check_names(given: Iterable[str]) -> frozenset[str]:
    """Return what is watched where the user says that ``given`` was recorded.

    Raises:
        UsageError: A name that is neither an artifact nor a log kind.
    """
    known = {log.name for log in manifest.current().logs} | {CREATIONS, REFUSALS} | set(_IMPLIED)
    known |= {part.removeprefix("__") for log in manifest.current().logs for part in log.artifacts}
    known |= {part for log in manifest.current().logs for part in artifacts_of(log.switch)}
    out: set[str] = set()
    for name in given:
        if name not in known:
            hint = closest(name, known, "names as in TORCH_LOGS, or onednn_verbose")
            raise UsageError(f"--recorded-with: nothing is called {name!r}", hint=hint)
        out |= {name, *_IMPLIED.get(name, ())} | (_TRACED if name == STRUCTURED else frozenset())
    return frozenset(out)


class Watched:
    """What was watched in one run."""

    def __init__(self, evidence: Evidence, given: Collection[str] = ()) -> None:
        """Find out.

        Args:
            evidence: Of the run.
            given: What the user says that was recorded, as :func:`check_names` returns it.
        """
        facts = {seen.record.name: seen.record.value for seen in evidence.table(Recorded)}
        #: Whether something that was written is not in the log.
        self.cut = bool(evidence.gaps) or len(evidence.table(LeftOut)) > 0
        found = set(given)
        if not self.cut:
            for name, value in (*facts.items(), *_echoed(evidence)):
                found |= artifacts(name, value)
            found |= set(_shown(evidence))
        self.artifacts = frozenset(found)

    @property
    def names(self) -> tuple[str, ...]:
        """The artifacts, for the report; what is implied by another one has a name of its own."""
        return tuple(sorted(name for name in self.artifacts if not name.startswith("+")))

    def covers(self, switches: Iterable[str]) -> bool:
        """Tell whether all that these switches show was watched."""
        wanted = [artifacts_of(switch) or _kinds_of(switch) for switch in switches]
        return all(wanted) and all(parts <= self.artifacts for parts in wanted)


def _echoed(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the variables that the log shows: a launcher, ``set -x`` or the user printed them."""
    kinds = {kind.__name__: kind for kind in evidence.types() if kind.__module__ == _VARIABLES}
    if (kind := kinds.get("EnvironmentVariable")) is not None:
        for seen in evidence.table(kind):
            yield getattr(seen.record, "name", ""), getattr(seen.record, "value", "")


def _shown(evidence: Evidence) -> Iterator[str]:
    """Yield what the log proves by its own records."""
    for name in evidence.switched:
        yield name
        yield from _IMPLIED.get(name, ())
    if evidence.structured:
        yield from _TRACED
    if evidence.events:
        yield TRACE
    types = {kind.__name__ for kind in evidence.types() if kind.__module__.endswith(EXECUTIONS)}
    yield from (REFUSALS,) if "DispatchRejection" in types else ()
    yield from (CREATIONS,) if "PrimitiveCreate" in types else ()
    # Refusals and creations alone have a header, too, and no executions.
    if "PrimitiveExec" in types or ("LibraryVersion" in types and not types & _NOT_EXECUTED):
        yield EXECUTIONS


_NOT_EXECUTED = {"DispatchRejection", "LibraryRejection", "PrimitiveCreate", "CreateCheck"}


class Refused(msgspec.Struct, frozen=True):
    """What a grammar refused of one log kind."""

    count: int
    #: The first line.
    line: int
    #: Of how many records of the kind, those that were read included.
    among: int
    #: Whether they are torn lines only, too few for a rule to have missed anything.
    torn: bool


def refused(evidence: Evidence) -> dict[str, Refused]:
    """Return what grammars refused, by the modules of their log kinds.

    What is counted by the thousand (oneDNN's lines) is printed anew in every step: a record that
    would be a finding comes again. So a text that comes again is a form that nobody has read, and
    anything may be in it, while one that never does was torn by another writer: what it said
    stands elsewhere in the log, unless there are many such.
    """
    out: dict[str, Refused] = {}
    if not evidence.unread_lines:
        return out
    of_kind: dict[str, list[Unread]] = {}
    for text in evidence.unread:
        of_kind.setdefault(text.kind, []).append(text)
    for log in manifest.current().logs:
        if texts := of_kind.get(log.name):
            count = sum(max(1, text.count) for text in texts)
            among = count + evidence.kinds.get(log.name, 0)
            torn = log.counted and count * TORN_AMONG <= among and not _come_again(texts)
            first = min(text.first_line for text in texts)
            held = out.get(log.module, Refused(0, first, 0, torn=True))
            out[log.module] = Refused(
                held.count + count, min(held.line, first), held.among + among, held.torn and torn
            )
    return out


def _come_again(texts: Iterable[Unread]) -> bool:
    """Tell whether a refused text was seen twice: the same but for its last field, the time.

    Those that are not kept one by one are taken to be like the fifty that are.
    """
    seen: set[str] = set()
    for text in texts:
        start, _, last = text.text.rpartition(",")
        form = start if last[:1].isdigit() else text.text
        if not text.others and (text.count > 1 or form in seen):
            return True
        seen.add(form)
    return False
