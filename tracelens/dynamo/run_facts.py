"""What the logs of a run say about it as a whole: versions, machine, and what was at work.

Advice depends on it: freezing does nothing in a run where nothing is compiled, and a float16 model
gains nothing from it on a CPU without float16. What the logs do not say is ``None``, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from tracelens.evidence import Place, Seen, Table
from tracelens.late import late
from tracelens.logs import Joined, Record
from tracelens.logs import _isa as instructions
from tracelens.report import FindingData
from tracelens.words import is_whole

if TYPE_CHECKING:
    from tracelens.dynamo.settings import Setting
    from tracelens.logs._trace_header import TraceHeader
    from tracelens.logs.autotune import AutotuneTable
    from tracelens.logs.chrome_trace import CompiledRegion
    from tracelens.logs.cpu_info import CpuFlags
    from tracelens.logs.dynamo_debug import CompilerStep, FrameCompiled
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.inductor_debug import CacheEvent, CompileStep
    from tracelens.logs.onednn_verbose import (
        CpuIsa,
        EngineRuntime,
        GpuDevice,
        LibraryVersion,
        PrimitiveExec,
    )
    from tracelens.logs.output_code import OutputModule
    from tracelens.logs.recompiles import Recompile
    from tracelens.logs.recording import Recorded
    from tracelens.logs.shared_libraries import LoadedLibrary
    from tracelens.logs.torch_trace import CompilationMetrics, TorchVersion

__all__ = ["InRun", "RunFacts", "facts_of", "inputs_of"]

#: Artifacts of ``TORCH_LOGS`` that say something about every compilation.
_ALWAYS_TOLD = frozenset({"output_code", "graph_code", "guards", "dynamo", "aot_graphs", "all"})
#: Backends that come with torch and do not call Inductor.
_OTHER_BACKENDS = frozenset(
    {"aot_eager", "aot_eager_decomp_partition", "aot_eager_decomp_partition_with_mode"}
    | {"aot_eager_default_partitioner", "aot_ts", "cudagraphs", "eager", "eager_debug"}
    | {"eager_noexcept", "onnxrt", "openxla", "openxla_eval", "pre_dispatch_eager", "ts", "tvm"}
)
#: The kernel's flag -> the type that it multiplies.
_FLAGS = {"avx512_fp16": "f16", "avx512_bf16": "bf16", "amx_bf16": "bf16", "amx_fp16": "f16"}
_FLAGS |= {"fphp": "f16", "asimdhp": "f16", "bf16": "bf16"}
_FLAGS |= dict.fromkeys(("avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"), "int8")
#: A tensor that compiled code is given, and not one of a module's: its sizes.
_INPUT = late(r"check_tensor\(L\['(?!self')\w+'\](?:\['?\w+'?\])*, ")
_SIZES = late(r" size=\[([^\]]*)\]")


class RunFacts(Joined):
    """The run as a whole. There is always exactly one row; ``None`` is: the logs do not say."""

    #: ``(2, 13, 0)``.
    torch: tuple[int, ...] | None = None
    onednn: tuple[int, ...] | None = None
    #: In oneDNN's words; empty without its header.
    isa: str | None = None
    #: ``x86_64`` or ``aarch64``.
    arch: str | None = None
    #: ``cpu``, ``cuda``, ``xpu``: where tensors were.
    devices: frozenset[str] = frozenset()
    #: ``linux``, ``macos`` or ``windows``.
    os: str | None = None
    #: Something was differentiated; False where all that was compiled was for inference.
    is_training: bool | None = None
    #: A compiler was at work; False where its logs were on and are silent.
    is_compiled: bool | None = None
    #: Inductor had the weights as constants.
    is_frozen: bool | None = None
    #: Inductor made code; False where another backend was at work, as far as it shows.
    uses_inductor: bool | None = None
    threads: int | None = None
    #: ``max-autotune`` or ``reduce-overhead``, by what they do.
    mode: str | None = None
    #: Flags of the CPU, as the kernel names them; None where no log lists them.
    flags: frozenset[str] | None = None
    #: Numbers of dimensions of the tensors that compiled code is given; None without guards.
    inputs: frozenset[int] | None = None

    @classmethod
    def walks(cls) -> tuple[type[Record], ...]:
        """Nothing is needed: the facts of a log that says nothing are all ``None``."""
        return ()

    @classmethod
    def join(
        cls,
        *,
        recorded: Table[Recorded],
        versions: Table[TorchVersion],
        headers: Table[TraceHeader],
        libraries: Table[LibraryVersion],
        runtimes: Table[EngineRuntime],
        isas: Table[CpuIsa],
        gpus: Table[GpuDevice],
        execs: Table[PrimitiveExec],
        flags: Table[CpuFlags],
        modules: Table[OutputModule],
        graphs: Table[FxGraph],
        breaks: Table[GraphBreak],
        recompiles: Table[Recompile],
        guards: Table[GuardTree],
        steps: Table[CompileStep],
        backends: Table[CompilerStep],
        frames: Table[FrameCompiled],
        metrics: Table[CompilationMetrics],
        regions: Table[CompiledRegion],
        tuned: Table[AutotuneTable],
        settings: Table[Setting],
        loaded: Table[LoadedLibrary],
        lookups: Table[CacheEvent],
    ) -> Iterator[Seen[RunFacts]]:
        """Make the one row."""
        notes = {row.record.name: row.record.value for row in recorded}
        told = [row.record for row in settings]
        isa = next((row.record.isa for row in isas), None)
        compiled = (modules, graphs, breaks, recompiles, guards, steps, backends, frames, metrics)
        known = frozenset().union(*(row.record.names for row in flags)) if len(flags) else None
        facts = cls(
            torch=_version(notes.get("torch"))
            or _first(_version(row.record.pytorch_version) for row in versions)
            or _first(_version(row.record.torch) for row in headers),
            onednn=_first(_version(row.record.version) for row in libraries),
            isa=isa,
            arch=_arch(isa, known),
            devices=frozenset(_devices(execs, modules, gpus, headers, notes)),
            os=_system(row.record.path for row in loaded),
            is_training=_training(execs, modules, graphs),
            is_compiled=_compiled((*compiled, regions, tuned), notes),
            is_frozen=_frozen(modules, told),
            uses_inductor=_by_inductor((modules, steps, tuned, lookups), compiled, backends, notes),
            threads=_threads(notes, runtimes, told),
            mode=_mode(told, tuned),
            flags=known,
            inputs=_inputs(guards),
        )
        yield Seen(facts, 1, [Place("", 0)], "")

    @cached_property
    def native_types(self) -> frozenset[str] | None:
        """The types shorter than float32 that the CPU multiplies; None where no log tells.

        Any of ``bf16``, ``f16``, ``int8``, ``f8``.
        """
        if self.isa and instructions.level(self.isa) is not instructions.Level.UNKNOWN:
            return instructions.vector_types(self.isa) | instructions.matrix_types(self.isa)
        if self.flags is None:
            return None
        return frozenset(kind for flag, kind in _FLAGS.items() if flag in self.flags)

    @cached_property
    def onednn_bfloat16(self) -> bool | None:
        """Tell whether torch hands bfloat16 products to oneDNN on x86-64; None if unknown.

        It asks the processor for AVX-512 or for conversions of bfloat16, not for its products
        (``mkldnn_bf16_device_check`` in aten/src/ATen/native/mkldnn/Utils.h).
        """
        if self.arch == "aarch64":
            return None
        if self.flags is not None and "sse2" in self.flags:
            return not self.flags.isdisjoint({"avx512bw", "avx_ne_convert"})
        level = instructions.level(self.isa or "")
        if level is instructions.Level.UNKNOWN:
            return None
        return level >= instructions.Level.AVX512 or self.has_type("bf16")

    def has_type(self, dtype: str) -> bool | None:
        """Tell whether the CPU has instructions for ``bf16``, ``f16`` ...; None if unknown."""
        return None if self.native_types is None else dtype in self.native_types


def facts_of(facts: Table[RunFacts]) -> RunFacts:
    """Return the one record of a table of facts."""
    return next((row.record for row in facts), RunFacts())


def inputs_of(facts: Table[RunFacts]) -> tuple[int, ...] | None:
    """Return the dimensions of what compiled code is given, for a finding's data."""
    inputs = facts_of(facts).inputs
    return None if inputs is None else tuple(sorted(inputs))


class InRun(FindingData):
    """Data of a finding whose advice depends on the run; ``None``: the logs do not say."""

    is_compiled: bool | None = None
    is_frozen: bool | None = None
    uses_inductor: bool | None = None
    is_training: bool | None = None
    arch: str | None = None
    torch: tuple[int, ...] | None = None
    threads: int | None = None
    #: The types shorter than float32 that the CPU multiplies.
    native_types: tuple[str, ...] | None = None

    @classmethod
    def of(cls, facts: Table[RunFacts], **own: Any) -> Self:
        """Return the data of a finding, with what the facts of its run say."""
        run = facts_of(facts)
        told = {name: getattr(run, name) for name in InRun.model_fields if name != "native_types"}
        types = None if run.native_types is None else tuple(sorted(run.native_types))
        return cls(**{**told, "native_types": types, **own})


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value), None)


def _version(text: str | None) -> tuple[int, ...] | None:
    """Return ``(2, 13, 0)`` of ``2.13.0+cpu``."""
    found = re.match(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", text or "")
    return tuple(int(part) for part in found.groups() if part) if found else None


def _inputs(trees: Table[GuardTree]) -> frozenset[int] | None:
    """Return how many dimensions inputs have; None where no guard tells of any."""
    checks = (guard.expression for row in trees for guard in row.record.guards)
    sizes = (_SIZES.search(text) for text in checks if _INPUT.match(text))
    found = {size[1].count(",") + 1 if size[1] else 0 for size in sizes if size}
    return frozenset(found) or None


def _arch(isa: str | None, flags: frozenset[str] | None) -> str | None:
    words = isa or ""
    if words.startswith("AArch64") or (flags and "asimd" in flags):
        return "aarch64"
    return "x86_64" if words.startswith("Intel") or (flags and "sse2" in flags) else None


def _system(paths: Iterable[str]) -> str | None:
    for path in paths:
        if path.endswith(".dylib") or path.startswith("/Users/"):
            return "macos"
        if path.lower().endswith(".dll"):
            return "windows"
        if ".so" in path:
            return "linux"
    return None


def _devices(
    execs: Table[PrimitiveExec],
    modules: Table[OutputModule],
    gpus: Table[GpuDevice],
    headers: Table[TraceHeader],
    notes: dict[str, str],
) -> Iterator[str]:
    for run in execs:
        yield "xpu" if run.record.engine.startswith("gpu") else "cpu"
    for module in modules:
        if module.record.device:
            yield module.record.device
    if len(gpus):
        yield "xpu"
    if any(row.record.devices for row in headers) or "device" in notes:
        yield "cuda"


def _training(
    execs: Table[PrimitiveExec], modules: Table[OutputModule], graphs: Table[FxGraph]
) -> bool | None:
    kinds = {row.record.graph for row in modules}
    if kinds & {"forward", "backward"} or any(row.record.is_training for row in execs):
        return True
    if any(row.record.name.startswith(("Backward graph", "Joint graph")) for row in graphs):
        return True
    return False if "inference" in kinds else None


def _compiled(tables: Iterable[Table[Any]], notes: dict[str, str]) -> bool | None:
    if any(len(table) for table in tables):
        return True
    switches = set(notes.get("TORCH_LOGS", "").replace("+", "").split(","))
    return False if switches & _ALWAYS_TOLD or "TORCH_TRACE" in notes else None


def _by_inductor(
    traces: Iterable[Table[Any]],
    compiled: Iterable[Table[Any]],
    backends: Table[CompilerStep],
    notes: dict[str, str],
) -> bool | None:
    if any(len(table) for table in traces):
        return True
    if len(backends) and all(row.record.compiler in _OTHER_BACKENDS for row in backends):
        return False
    switches = set(notes.get("TORCH_LOGS", "").replace("+", "").split(","))
    told = bool(switches & {"output_code", "all"})
    return False if told and any(len(table) for table in compiled) else None


def _frozen(modules: Table[OutputModule], settings: list[Setting]) -> bool | None:
    names = {"TORCHINDUCTOR_FREEZING", "torch._inductor.config.freezing"}
    told = [setting.is_on for setting in settings if setting.name in names]
    constants = (name.result for row in modules for name in row.record.constants)
    if any(told) or any(name.startswith("_frozen_param") for name in constants):
        return True
    return False if told or len(modules) else None


def _threads(
    notes: dict[str, str], runtimes: Table[EngineRuntime], settings: list[Setting]
) -> int | None:
    if is_whole(notes.get("threads", "")):
        return int(notes["threads"])
    pools = [row.record for row in runtimes]
    if (found := _first(pool.nthr for pool in pools if pool.engine.startswith("cpu"))) is not None:
        return int(found)
    values = (setting.value for setting in settings if setting.name == "OMP_NUM_THREADS")
    return next((int(value) for value in values if is_whole(value)), None)


def _mode(settings: list[Setting], tuned: Table[AutotuneTable]) -> str | None:
    on = {setting.name for setting in settings if setting.is_on}
    if len(tuned) or on & {
        "torch._inductor.config.max_autotune",
        "torch._inductor.config.max_autotune_gemm",
        "TORCHINDUCTOR_MAX_AUTOTUNE",
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
    }:
        return "max-autotune"
    if "torch._inductor.config.triton.cudagraphs" in on:
        return "reduce-overhead"
    return None
