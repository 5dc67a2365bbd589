"""Remedies that rules about CPU code share, with the conditions in which they do anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tracelens.dynamo.run_facts import InRun
from tracelens.experiment import Knob
from tracelens.late import late
from tracelens.remedies import Remedy

__all__ = [
    "FREEZING",
    "LAYOUTS",
    "bfloat16",
    "can_compile",
    "can_freeze",
    "channels_last",
    "channels_last_3d",
    "channels_last_model",
    "channels_last_within",
    "compile_frozen",
    "float32",
    "freeze",
    "is_given",
    "lacks_float16",
]

#: What live mode changes to try it.
FREEZING = Knob("freezing", config={"torch._inductor.config.freezing": True})
_FROZEN = "import torch._inductor.config\ntorch._inductor.config.freezing = True"


def lacks_float16(data: InRun) -> bool:
    """Whether it is about float16 on a CPU that is not known to have it: freezing has no effect."""
    types = str(getattr(data, "dtypes", "")).split(":")
    float16 = ("f16" in types or "float16" in types) and getattr(data, "cause", "") != "gpu"
    return float16 and data.arch != "aarch64" and "f16" not in (data.native_types or ())


def can_freeze(data: InRun) -> bool:
    """Whether freezing may help: Inductor compiles for inference, and takes weights as inputs."""
    return (
        data.is_compiled is True
        and data.uses_inductor is not False
        and data.is_frozen is not True
        and data.is_training is not True
        and not lacks_float16(data)
        and not _late_on_arm(data)
    )


def can_compile(data: InRun) -> bool:
    """Whether nothing is known to be compiled by Inductor, and a frozen model may help."""
    return (
        (data.is_compiled is not True or data.uses_inductor is False)
        and data.is_training is not True
        and not lacks_float16(data)
        and not _late_on_arm(data)
    )


def _late_on_arm(data: InRun) -> bool:
    """Whether the AArch64 wheels run frozen bfloat16 layers in reference kernels: before 2.15."""
    types = str(getattr(data, "dtypes", "")).split(":")
    bfloat16 = "bf16" in types or "bfloat16" in types
    return data.arch == "aarch64" and bfloat16 and (data.torch is None or data.torch < (2, 15))


#: Remedies that give images another layout.
LAYOUTS = frozenset(
    {"channels-last", "channels-last-3d", "channels-last-model", "channels-last-within"}
)
#: Dimensions for which there is a channels-last layout.
_LAYOUTS = (4, 5)


def is_given(data: Any, rank: int) -> bool:
    """Whether tensors of so many dimensions are converted, and the model may be given them.

    ``data.inputs`` holds the dimensions of what compiled code is given. A tensor of three
    dimensions has no channels-last layout: converting it raises.
    """
    if data.inputs is None:  # one of them alone: what is computed inside may have more
        return rank == min((each for each in data.ranks if each in _LAYOUTS), default=None)
    return rank in data.ranks and rank in data.inputs


def _rank(rank: int) -> Any:
    return lambda data: is_given(data, rank)


#: The groups and the channels of a convolution, as oneDNN writes its shape.
_GROUPS = late(r"g(\d{1,9})mb\d{1,9}_ic(\d{1,9})oc")


def _is_within(data: Any) -> bool:
    """Whether images are converted that compiled code is not given: the model makes them."""
    return 4 in data.ranks and not is_given(data, 4)


def _is_depthwise(data: Any) -> bool:
    """Whether each group of the layer reads one channel, so that any layout of weights is any."""
    found = _GROUPS.match(data.shape)
    return found is not None and found[1] == found[2] != "1"


def _freezing(data: InRun) -> str:
    text = "If the model is only used for inference, and its weights no longer change, freeze it: "
    text += "they are packed once."
    if data.uses_inductor:
        return text
    return (
        "The log does not say which backend compiles. Only where `torch.compile` is called without "
        f"`backend=`, so that it is Inductor: {text[0].lower()}{text[1:]}"
    )


_FREEZE = Remedy(
    id="freeze",
    text=_freezing,
    when="compiled by Inductor, not frozen, inference; not float16 on a CPU without it, nor "
    "bfloat16 on AArch64 before torch 2.15",
    applies=can_freeze,
    setting="torch._inductor.config.freezing = True",
    env="TORCHINDUCTOR_FREEZING=1",
    code="with torch.no_grad(): model(x)",
    since="2.1",
    proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
    knob=FREEZING,
)
_COMPILE_FROZEN = Remedy(
    id="compile-frozen",
    text="If the model is only used for inference, and its weights no longer change, compile it "
    "with freezing, and measure: it is not always faster than eager.",
    when="nothing is known to be compiled by Inductor, inference",
    applies=can_compile,
    code=f"{_FROZEN}\nmodel = torch.compile(model.eval())\nwith torch.no_grad(): model(x)",
    since="2.1",
    proof="https://docs.pytorch.org/tutorials/unstable/max_autotune_on_CPU_tutorial.html",
)
_CHANNELS_LAST = Remedy(
    id="channels-last",
    text="Convert model and images to channels-last once. Write `.reshape` for a `.view` that "
    "raises then.",
    when="images of 4 dimensions",
    applies=_rank(4),
    code="model = model.to(memory_format=torch.channels_last)\n"
    "x = x.to(memory_format=torch.channels_last)",
    proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
    knob=Knob("modules and images in channels_last", layout="channels_last"),
)
_CHANNELS_LAST_3D = Remedy(
    id="channels-last-3d",
    text="Convert model and volumes to channels-last once. Write `.reshape` for a `.view` that "
    "raises then.",
    when="volumes of 5 dimensions",
    applies=_rank(5),
    code="model = model.to(memory_format=torch.channels_last_3d)\n"
    "x = x.to(memory_format=torch.channels_last_3d)",
    proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
)
_CHANNELS_LAST_MODEL = Remedy(
    id="channels-last-model",
    text="No compiled graph that the log shows is given an image to convert. Convert the model "
    "alone: a convolution takes the layout of its weights, too. Measure: with few channels a step "
    "was slower.",
    when="images of 4 dimensions, compiled code is given no such tensor, and the layer whose "
    "reorders cost most is not depthwise",
    applies=lambda data: _is_within(data) and not _is_depthwise(data),
    code="model = model.to(memory_format=torch.channels_last)",
    proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
)
_CHANNELS_LAST_WITHIN = Remedy(
    id="channels-last-within",
    text="No compiled graph that the log shows is given an image, and weights of one channel have "
    "no layout of their own. Convert the image where the model makes it or takes it in, before the "
    "first convolution, with `.contiguous(memory_format=torch.channels_last)`, and measure.",
    when="images of 4 dimensions, compiled code is given no such tensor, and the layer whose "
    "reorders cost most is depthwise, of more than one channel",
    applies=lambda data: _is_within(data) and _is_depthwise(data),
    proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
    edits=True,
)
_BFLOAT16 = Remedy(
    id="bfloat16",
    text="Use bfloat16: without float16 instructions it is many times faster.",
    when="float16 on a CPU that is known to have bfloat16 and not float16",
    applies=lambda data: lacks_float16(data) and "bf16" in (data.native_types or ()),
    code="model = model.to(torch.bfloat16)\nx = x.to(torch.bfloat16)  # data, not ids",
    proof="https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html",
)
#: Without either type, bfloat16 is computed by the same plain loops: measured, it was slower yet.
_FLOAT32 = Remedy(
    id="float32",
    text=lambda data: (
        "Use float32: this CPU multiplies neither float16 nor bfloat16."
        if data.native_types is not None
        else "Use float32: nothing in the log says that this CPU multiplies float16. Where it has "
        "bfloat16 (`lscpu | grep -E 'avx512_bf16|amx_bf16'` prints something), that is faster yet."
    ),
    when="float16 on a CPU that is not known to have float16 or bfloat16",
    applies=lambda data: lacks_float16(data) and "bf16" not in (data.native_types or ()),
    code="model = model.float()\nx = x.float()",
    proof="https://uxlfoundation.github.io/oneDNN/dev_guide_data_types.html",
)


def freeze(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that freezes; ``tested`` is the rule whose bench program shows it."""
    return _shown(_FREEZE, tested, changes)


def compile_frozen(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that compiles and freezes what is not compiled yet."""
    return _shown(_COMPILE_FROZEN, tested, changes)


def channels_last(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that converts images."""
    return _shown(_CHANNELS_LAST, tested, changes)


def channels_last_model(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that converts weights, where the model makes its images itself."""
    return _shown(_CHANNELS_LAST_MODEL, tested, changes)


def channels_last_within(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that converts images which the model makes itself."""
    return _shown(_CHANNELS_LAST_WITHIN, tested, changes)


def channels_last_3d(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that converts volumes."""
    return _shown(_CHANNELS_LAST_3D, tested, changes)


def bfloat16(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that takes bfloat16 for float16."""
    return _shown(_BFLOAT16, tested, changes)


def float32(tested: str = "", **changes: Any) -> Remedy:
    """Return the remedy that takes float32 for float16."""
    return _shown(_FLOAT32, tested, changes)


def _shown(remedy: Remedy, tested: str, changes: dict[str, Any]) -> Remedy:
    if tested:
        changes = {"basis": "tested", "proof": f"tests/advice/{tested}/{remedy.id}.py", **changes}
    return replace(remedy, **changes)
