"""What TRC014 finds, and what it advises: by what is moved."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.report import FindingData

__all__ = ["REMEDIES", "Moved", "before_convolutions", "casting"]

#: Part of the copies that must stand before convolutions.
MIN_BEFORE = 0.25


class Moved(FindingData):
    """What moving data takes."""

    ms: float
    layout_ms: float
    of_ms: float
    mostly_layout: bool
    #: A GPU of which nothing was recorded: copies may go there; empty for none.
    unseen: str = ""
    #: On the CPU, of tensors that were made contiguous right before a convolution.
    before_ms: float = 0.0
    #: DistributedDataParallel copies gradients back from the buckets that it reduces.
    buckets: bool = False
    #: Of ``torch.cat``, and on a GPU of conversions between types.
    joined_ms: float = 0.0
    cast_ms: float = 0.0
    #: On the CPU, patches of images are written out.
    unfolds: bool = False
    #: On the CPU, of conversions of float32 to 16 bits, without a backward pass.
    halved_ms: float = 0.0
    #: Between the host and the device.
    between: bool = False
    #: On the CPU, of ``copy.deepcopy``.
    deep_ms: float = 0.0


def _on_host(data: Moved) -> bool:
    elsewhere = data.mostly_layout or data.unseen or data.buckets or data.between
    return not (elsewhere or data.deep_ms or _joining(data))


def _joining(data: Moved) -> bool:
    return data.joined_ms >= data.ms / 2 > 0


def _halves(data: Moved) -> bool:
    return data.halved_ms >= data.ms / 2 > 0 and _on_host(data)


def casting(data: Moved) -> bool:
    """Whether most of it converts types."""
    return data.cast_ms >= data.ms / 2 > 0


def before_convolutions(data: Moved) -> bool:
    """Whether much of it makes tensors contiguous for convolutions."""
    return data.before_ms >= MIN_BEFORE * data.ms > 0


REMEDIES = (
    Remedy(
        id="deep",
        text="Copy every N steps, or after an epoch. What must be kept at each step, of a model "
        "its `state_dict`: copy it into tensors that stay, which takes no new memory.",
        when="`copy.deepcopy` copies tensors on the CPU",
        applies=lambda data: data.deep_ms > 0,
        code="kept = {name: value.clone() for name, value in model.state_dict().items()}  # once\n"
        "for name, value in model.state_dict().items():\n"
        "    kept[name].copy_(value)",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html",
    ),
    Remedy(
        id="stay",
        text="Keep tensors on the device from step to step, and copy what must go there from "
        "pinned memory, without waiting.",
        when="copies between the host and the device take it",
        applies=lambda data: data.between,
        code='x = x.to("cuda", non_blocking=True)  # of DataLoader(..., pin_memory=True)',
        proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    ),
    Remedy(
        id="keep-view",
        text="Leave out `.contiguous()` before convolutions: a view of NHWC data is in the "
        "layout channels_last, which oneDNN takes as it is.",
        when="tensors are made contiguous right before convolutions on the CPU",
        applies=before_convolutions,
        code="x.permute(0, 3, 1, 2)",
        basis="tested",
        proof="tests/advice/TRC014/keep-view.py",
    ),
    Remedy(
        id="channels-last",
        text="Keep images in the layout that the convolutions want.",
        when="most of it changes the layout of images",
        applies=lambda data: data.mostly_layout,
        code="model.to(memory_format=torch.channels_last)",
        proof="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
    ),
    Remedy(
        id="bucket-view",
        text="Let gradients be views of the buckets that DistributedDataParallel reduces: "
        "they are not copied back then.",
        when="DistributedDataParallel reduces gradients on the CPU, and copies are as many",
        applies=lambda data: data.buckets,
        code="DistributedDataParallel(model, gradient_as_bucket_view=True)",
        since="1.7",
        proof="https://docs.pytorch.org/docs/stable/generated/"
        "torch.nn.parallel.DistributedDataParallel.html",
    ),
    Remedy(
        id="preallocate",
        text="`torch.cat` copies all that it joins. What grows from step to step: allocate it "
        "once, as large as it gets, and write each part into it.",
        when="most of it is `torch.cat`",
        applies=_joining,
        code="cache[:, :, n : n + 1] = part",
        basis="tested",
        proof="tests/advice/TRC014/preallocate.py",
    ),
    Remedy(
        id="conv2d",
        text="`unfold` writes out every patch of the images, and a product with it copies them "
        "again. Where it is a convolution written by hand, take that of torch.",
        when="images are unfolded on the CPU, and none goes to a device",
        applies=lambda data: data.unfolds and _on_host(data),
        code="y = torch.nn.functional.conv2d(x, w.view(-1, channels, k, k), padding=k // 2)",
        basis="tested",
        proof="tests/advice/TRC014/conv2d.py",
    ),
    Remedy(
        id="halves",
        text="Weights that autocast converts at each call: convert them once, and leave "
        "autocast on for the inputs. Check that the results are good enough.",
        when="most of it, on the CPU and without training, converts float32 to 16 bits",
        applies=_halves,
        code="model.to(torch.bfloat16)",
        basis="tested",
        proof="tests/advice/TRC014/halves.py",
    ),
    Remedy(
        id="keep-type",
        text="Where weights are converted at each call, keep them in the type that is computed in: "
        "for inference the whole model. In training, one `torch.autocast` around the whole forward "
        "pass converts each weight once.",
        code="model = model.to(torch.bfloat16)",
        when="most of it converts types on a GPU",
        applies=casting,
        proof="https://docs.pytorch.org/docs/stable/amp.html",
    ),
    Remedy(
        id="compile",
        text="Compile: copies are fused into what surrounds them.",
        when="most of it is copies, and none goes to a device",
        applies=lambda data: _on_host(data) and not _halves(data),
        code="torch.compile(model)",
        basis="tested",
        proof="tests/advice/TRC014/compile.py",
    ),
    Remedy(
        id="once",
        text="Copy and convert once, outside of the step, what is the same in every step.",
        when="most of it is copies, and none goes to a device",
        applies=lambda data: _on_host(data) and not casting(data),
        proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    ),
    Remedy(
        id="record",
        text="Record the device too: it may be what the copies go to.",
        when="the machine has a GPU of which nothing was recorded",
        applies=lambda data: bool(data.unseen),
        code=(
            "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, "
            "torch.profiler.ProfilerActivity.CUDA])"
        ),
        proof="https://docs.pytorch.org/docs/stable/profiler.html",
    ),
)
