"""What torch was told: settings from the environment and from its configuration, joined.

A setting shows in five places: where the log holds the environment, in the configuration that the
structured log records with each compilation, among what a cache key was made of, in what torch
says because of it (a warning, a folder that it writes to), and in the operators that it calls.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from tracelens.evidence import Place, Seen, Table
from tracelens.instances import lean
from tracelens.logs import Joined

if TYPE_CHECKING:
    from tracelens.logs.chrome_trace import Operator
    from tracelens.logs.compile_errors import Failure
    from tracelens.logs.inductor_debug import DebugFolder, HashDetails
    from tracelens.logs.recording import Recorded
    from tracelens.logs.torch_trace import CompilationMetrics
    from tracelens.logs.variables import EnvironmentVariable
    from tracelens.logs.warnings import TorchWarning

__all__ = ["DISABLING", "SKIPPED_GUARDS", "Setting"]

#: With them nothing is compiled.
DISABLING = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "torch._dynamo.config.disable")

#: The stance that skips guards, and filters that leave some out, as lines of a traceback name them.
SKIPPED_GUARDS = (
    "skip_guard_eval_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_all_guards_unsafe",
    "keep_tensor_guards_unsafe",
)

_ANOMALY = "torch.autograd.set_detect_anomaly"
#: What anomaly mode calls for each gradient, and programs do not.
_ANOMALY_CHECK = "_is_any_true"
_OFF = frozenset({"", "0", "false", "none", "off", "no", "{}", "[]"})


class Setting(Joined):
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
    def join(
        cls,
        *,
        variables: Table[EnvironmentVariable],
        recorded: Table[Recorded],
        compilations: Table[CompilationMetrics],
        keys: Table[HashDetails],
        folders: Table[DebugFolder],
        warnings: Table[TorchWarning],
        failures: Table[Failure],
        operators: Table[Operator],
    ) -> Iterator[Seen[Setting]]:
        """Gather settings from all places where they show."""
        found: defaultdict[tuple[str, str], dict[tuple[str, str], tuple[Place, str]]]
        found = defaultdict(dict)
        for name, value, place, text in chain(
            _of_variables(variables),
            _of_recording(recorded),
            _of_compilations(compilations),
            _of_cache_keys(keys),
            _of_messages(folders, warnings, failures),
            _of_operators(operators),
        ):
            found[name, value].setdefault((place.input, place.writer), (place, text))
        for (name, value), held in found.items():
            setting = lean(cls(name=name, value=value))
            for place, text in held.values():
                yield Seen(setting, 1, [place], text)


#: Name, value, where it is said, and the line that says so.
_Told = Iterator[tuple[str, str, Place, str]]


def _of_variables(variables: Table[EnvironmentVariable]) -> _Told:
    for row in variables:
        for place in row.places:
            yield row.record.name, row.record.value, place, row.text


def _of_recording(recorded: Table[Recorded]) -> _Told:
    for row in recorded:
        if row.record.name in DISABLING:
            for place in row.places:
                yield row.record.name, row.record.value, place, row.text


def _of_cache_keys(keys: Table[HashDetails]) -> _Told:
    # One key after the other says much the same, and most say all of it again.
    told: set[tuple[str, str, str, str]] = set()
    known: set[tuple[frozenset[str], str, str]] = set()
    for details in keys:
        lines = ["", *details.record.lines]
        places = [n for n, text in enumerate(lines) if "inductor_config[" in text]
        config = frozenset(lines[n] for n in places)
        all_firsts = {(p.input, p.writer): p for p in reversed(details.places)}
        firsts = [p for own, p in all_firsts.items() if (config, *own) not in known]
        if not firsts:
            continue
        known |= {(config, *own) for own in all_firsts}
        numbers = {lines[n].partition("] ")[2].partition(": ")[0]: n for n in places}
        for part in details.record.components:
            kind, _, name = part.part.partition("[")
            if kind == "inductor_config":
                line = numbers.get(part.part, 0)
                full = f"torch._inductor.config.{name.removesuffix(']')}"
                for place in firsts:
                    what = (full, part.value, place.input, place.writer)
                    if what not in told:
                        told.add(what)
                        yield full, part.value, place.moved(line), lines[line]


def _of_messages(
    folders: Table[DebugFolder], warnings: Table[TorchWarning], failures: Table[Failure]
) -> _Told:
    """Yield what torch says because of a setting."""
    for folder in folders:
        for place in folder.places:
            yield "TORCH_COMPILE_DEBUG", "1", place, folder.text
    for warning in warnings.where(lambda one: one.topic == "anomaly-mode"):
        for place in warning.places:
            yield _ANOMALY, "True", place, warning.text
    for failure in failures:
        for line, text in enumerate(failure.text.split("\n")):
            for word in SKIPPED_GUARDS:
                if word in text:
                    yield word, "True", failure.first.moved(line), text


def _of_operators(operators: Table[Operator]) -> _Told:
    """Yield what the operators of a trace show."""
    for row in operators:
        if row.record.op == _ANOMALY_CHECK:
            yield _ANOMALY, "True", row.first, row.text


def _of_compilations(compilations: Table[CompilationMetrics]) -> _Told:
    """Yield the settings that the structured log records, once for each configuration."""
    seen = set()
    for metrics in compilations:
        record = metrics.record
        for place in metrics.places:
            key = (place.input, place.writer, record.dynamo_config, record.inductor_config)
            if key in seen:
                continue
            seen.add(key)
            for name, held in record.settings.items():
                owner, _, rest = name.partition(".")
                text = f'"{owner}_config": {{... "{rest}": {json.dumps(held)} ...}}'
                yield f"torch._{owner}.config.{rest}", str(held), place, text
