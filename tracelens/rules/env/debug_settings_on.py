"""ENV005 debug-settings-on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracelens.evidence import Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.remedies import Remedy
from tracelens.report import Finding, FindingData, Severity
from tracelens.rules import Rule

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting

__all__ = ["DebugSettingsOn"]


class _Switch(NamedTuple):
    """Something that helps to find errors and costs time."""

    #: The variable, and the same thing in Python; either may be empty.
    env: str
    setting: str
    effect: str
    #: The values that count; any that is on when empty.
    values: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.env or self.setting

    def has(self, row: Seen[Setting]) -> bool:
        """Whether ``row`` switches it on."""
        setting = row.record
        if setting.name not in (self.env, self.setting) or not setting.is_on:
            return False
        return not self.values or setting.value.upper() in self.values


_CONFIG = "torch._inductor.config"
_SYNC = "the program waits for the device after every kernel, so nothing overlaps"
_SWITCHES = (
    _Switch(
        "TORCHINDUCTOR_NAN_ASSERTS",
        f"{_CONFIG}.nan_asserts",
        "generated code checks every input and result for NaN and infinity",
    ),
    _Switch(
        "TORCHINDUCTOR_RUNTIME_TRITON_NAN_ASSERTS",
        f"{_CONFIG}.runtime_triton_nan_asserts",
        "Triton kernels check what they load for NaN",
    ),
    _Switch(
        "",
        "torch.autograd.set_detect_anomaly",
        "every operator records its stack, and the backward pass checks every gradient for NaN",
    ),
    _Switch(
        "TORCH_COMPILE_DEBUG",
        f"{_CONFIG}.trace.enabled",
        "every compilation writes its graphs, schedules and code into files",
    ),
    _Switch("CUDA_LAUNCH_BLOCKING", "", _SYNC),
    _Switch("HIP_LAUNCH_BLOCKING", "", _SYNC),
    _Switch("AMD_SERIALIZE_KERNEL", "", _SYNC),
    _Switch("", f"{_CONFIG}.triton.debug_sync_kernel", _SYNC),
    _Switch(
        "",
        f"{_CONFIG}.triton.debug_sync_graph",
        "the program waits for the device before and after every compiled graph",
    ),
    _Switch("", f"{_CONFIG}.debug_index_asserts", "kernels check every indirect index"),
    _Switch(
        "TORCHINDUCTOR_PROFILE",
        f"{_CONFIG}.profile_bandwidth",
        "every generated kernel is benchmarked while the program runs",
    ),
    _Switch(
        "TORCHDYNAMO_REPRO_AFTER",
        "torch._dynamo.config.repro_after",
        "every compiled graph is checked against another run of it, and may be minimised",
    ),
    _Switch("TRITON_INTERPRET", "", "Triton kernels run in Python, on the CPU"),
    _Switch("TRITON_DEBUG", "", "Triton kernels are compiled with their assertions"),
    _Switch("TORCHDYNAMO_DISABLE", "torch._dynamo.config.disable", "nothing is compiled"),
    _Switch("TORCH_COMPILE_DISABLE", "", "nothing is compiled"),
    _Switch(
        "PYTORCH_NO_CUDA_MEMORY_CACHING", "", "every tensor is allocated from the driver, and freed"
    ),
    _Switch(
        "TORCH_DISTRIBUTED_DEBUG",
        "",
        "ranks compare each collective before it starts",
        ("DETAIL",),
    ),
    _Switch("NCCL_DEBUG", "", "NCCL writes a line for every call", ("TRACE",)),
    _Switch("PYTHONDEVMODE", "", "Python checks memory, files and warnings"),
)


class DebugSettingsOn(Rule):
    """A switch that is for finding errors was on while the log was recorded.

    ## Why it matters
    Checks for NaN, launches that block and files written with each compilation take time that the
    program does not take without them, by a factor of two to a hundred. No time in such a log says
    anything about the program, so this finding silences the claims of other rules about time, in
    the input that shows the switch.

    ## What it looks like
    A variable where the log holds the environment, the warning of anomaly mode, or its checks in a
    trace (``aten::_is_any_true``), a folder that ``TORCH_COMPILE_DEBUG`` writes to, or the
    configuration that the structured log records:

        + CUDA_LAUNCH_BLOCKING=1 python train.py

    ## When it is harmless
    While looking for an error. The switches that make the log itself (``TORCH_LOGS``,
    ``ONEDNN_VERBOSE``, ``TORCH_TRACE``) are not reported: they cost a little for each line, and
    without them there is nothing to read. Compare times without them all the same.

    ## What to do
    Unset the switch before measuring, and record again.

    ## How a live run confirms it
    The workload runs without the switch. Confirmed when a step, or the compilation, gets faster.

    ## See also
    TRC018 (what the profiler adds).
    <https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html>
    """

    code = "ENV005"
    name = "debug-settings-on"
    #: It is about the measurement, not about the model: what was asked about comes first.
    severity = Severity.INFO
    suppresses = "time"
    experiment = Experiment(
        Knob("debug switches off", env={switch.env: None for switch in _SWITCHES if switch.env}),
        confirms="the switch is gone from the log, and a step gets faster",
        refutes="a step takes as long as before",
    )

    class Data(FindingData):
        """The switch that is on."""

        name: str
        #: The same in Python, and the value that is off; empty where there is only a variable.
        setting: str = ""
        variable: str = ""
        times: int

    remedies = (
        Remedy(
            id="switch-off",
            text=lambda data: (
                f"Switch it off before measuring: `unset {data.variable}`."
                if data.variable
                else "Switch it off before measuring."
            ),
            setting=lambda data: data.setting or None,
            basis="tested",
            proof="tests/advice/ENV005/switch-off.py",
            knob=lambda data: (
                Knob("switched off", env={data.variable: None}) if data.variable else None
            ),
        ),
    )

    def check(self, settings: Table[Setting]) -> Iterator[Finding]:
        """Yield one finding per switch that is on."""
        for switch in _SWITCHES:
            rows = [row for row in settings if switch.has(row)]
            if rows:
                yield self._finding(switch, rows)

    def _finding(self, switch: _Switch, rows: list[Seen[Setting]]) -> Finding:
        off = "(False)" if "set_detect" in switch.setting else " = False"
        if "repro_after" in switch.setting:
            off = " = None"
        data = self.Data(
            name=switch.name,
            setting=f"{switch.setting}{off}" if switch.setting else "",
            variable=switch.env,
            times=len(rows),
        )
        return self.finding(
            switch.name,
            title=f"`{switch.name}` is on",
            message=(
                f"With `{switch.name}`, {switch.effect}. Times in this input are not those of the "
                "program."
            ),
            count=len(rows),
            evidence=[row.quote() for row in rows],
            advice=self.advise(data),
            data=data,
        )
