"""What torch was told: settings from the environment and from its configuration, joined.

A setting shows in four places: where the log holds the environment, in the configuration that the
structured log records with each compilation, among what a cache key was made of, and in what torch
says because of it (a warning, a folder that it writes to).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from tracelens.evidence import Evidence, Place, Seen
from tracelens.logs import Record
from tracelens.logs.compile_errors import Failure
from tracelens.logs.inductor_debug import DebugFolder, HashDetails
from tracelens.logs.torch_trace import CompilationMetrics
from tracelens.logs.variables import EnvironmentVariable
from tracelens.logs.warnings import TorchWarning

__all__ = ["SKIPPED_GUARDS", "Setting"]

#: The stance that skips guards, and filters that leave some out, as lines of a traceback name them.
SKIPPED_GUARDS = (
    "skip_guard_eval_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_all_guards_unsafe",
    "keep_tensor_guards_unsafe",
)

_OFF = frozenset({"", "0", "false", "none", "off", "no", "{}", "[]"})


class Setting(Record):
    """One setting with one value: a row for each input and writer, where they first show it."""

    switch = "TORCH_TRACE=trace_dir"

    #: The variable, or ``torch._inductor.config.nan_asserts``.
    name: str
    value: str

    @property
    def is_on(self) -> bool:
        """Whether the value switches something on."""
        return self.value.strip("'\"").lower() not in _OFF

    @classmethod
    def join(cls, evidence: Evidence) -> Iterator[Seen[Setting]]:
        """Gather settings from all places where they show."""
        found: defaultdict[tuple[str, str], dict[tuple[str, str], tuple[Place, str, int]]]
        found = defaultdict(dict)
        for name, value, place, text, line in _told(evidence):
            found[name, value].setdefault((place.input, place.writer), (place, text, line))
        for (name, value), held in found.items():
            for place, text, line in held.values():
                at = place._replace(line=place.line_of(line), jumps=())
                yield Seen(cls(name=name, value=value), 1, [at], text)


#: Name, value, place, the line that says so, and its offset in the record.
_Told = Iterator[tuple[str, str, Place, str, int]]


def _told(evidence: Evidence) -> _Told:
    for variable in evidence.table(EnvironmentVariable):
        for place in variable.places:
            yield variable.record.name, variable.record.value, place, variable.text, 0
    yield from _of_compilations(evidence)
    yield from _of_cache_keys(evidence)
    yield from _of_messages(evidence)


def _of_cache_keys(evidence: Evidence) -> _Told:
    for details in evidence.table(HashDetails):
        lines = details.record.body.split("\n")
        numbers = {text.partition("] ")[2].partition(": ")[0]: n for n, text in enumerate(lines)}
        for part in details.record.components:
            kind, _, name = part.part.partition("[")
            if kind == "inductor_config":
                line = numbers.get(part.part, 0)
                full = f"torch._inductor.config.{name.removesuffix(']')}"
                for place in details.places:
                    yield full, part.value, place, lines[line], line


def _of_messages(evidence: Evidence) -> _Told:
    """Yield what torch says because of a setting."""
    for folder in evidence.table(DebugFolder):
        for place in folder.places:
            yield "TORCH_COMPILE_DEBUG", "1", place, folder.text, 0
    for warning in evidence.table(TorchWarning).where(lambda one: one.topic == "anomaly-mode"):
        for place in warning.places:
            yield "torch.autograd.set_detect_anomaly", "True", place, warning.text, 0
    for failure in evidence.table(Failure):
        for line, text in enumerate(failure.text.split("\n")):
            for word in SKIPPED_GUARDS:
                if word in text:
                    yield word, "True", failure.first, text, line


def _of_compilations(evidence: Evidence) -> _Told:
    """Yield the settings that the structured log records, once for each configuration."""
    seen = set()
    for metrics in evidence.table(CompilationMetrics):
        record = metrics.record
        for place in metrics.places:
            key = (place.input, place.writer, record.dynamo_config, record.inductor_config)
            if key in seen:
                continue
            seen.add(key)
            for name, held in record.settings.items():
                owner, _, rest = name.partition(".")
                text = f'"{owner}_config": {{... "{rest}": {json.dumps(held)} ...}}'
                yield f"torch._{owner}.config.{rest}", str(held), place, text, 0
