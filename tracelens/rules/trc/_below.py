"""What TRC009 finds, and what it advises: by what the kernels do."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.report import FindingData

__all__ = ["REMEDIES", "Below"]


class Below(FindingData):
    """The kernels that stay below the bound."""

    device: str
    kernels: tuple[str, ...]
    reached: float
    lost_ms: float
    odd: bool
    products: bool
    #: Whether attention, and what memory limits, are among them.
    attention: bool = False
    #: Whether cuDNN can compute some of that attention: of 16 bits, on Ampere or later.
    cudnn: bool = False
    streaming: bool = False


REMEDIES = (
    Remedy(
        id="pad",
        text="Make the sides of the matrices multiples of 8 elements of 16 bits, or let "
        "Inductor pad them.",
        when="a side is no multiple of 8",
        applies=lambda data: data.odd,
        setting="torch._inductor.config.force_shape_pad = True",
        since="2.4",
        proof="https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
    ),
    Remedy(
        id="max-autotune",
        text="Let Inductor time several kernels for each product and take the fastest.",
        when="products are among them",
        applies=lambda data: data.products,
        code='torch.compile(model, mode="max-autotune")',
        env="TORCHINDUCTOR_MAX_AUTOTUNE=1",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
    ),
    Remedy(
        id="attention-backend",
        text="Try the other implementations of attention, and measure: cuDNN's is often the "
        "fastest on Hopper and later.",
        when="attention of 16 bits is among them, on a GPU of NVIDIA from Ampere on",
        applies=lambda data: data.cudnn,
        code="from torch.nn.attention import SDPBackend, sdpa_kernel\n"
        "order = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION,\n"
        "         SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]\n"
        "with sdpa_kernel(order, set_priority=True): model(x)",
        since="2.6",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html",
    ),
    Remedy(
        id="attention-library",
        text="Try Composable Kernel's attention instead of AOTriton's, and measure.",
        when="attention is among them, on a GPU of AMD",
        applies=lambda data: data.attention and data.device.startswith("AMD"),
        code='torch.backends.cuda.preferred_rocm_fa_library("ck")',
        since="2.8",
        proof="https://docs.pytorch.org/docs/2.13/backends.html",
    ),
    Remedy(
        id="compile",
        text="Compile the function that holds them: Inductor's kernels take what is around "
        "them along, so that less is moved.",
        when="elementwise operators are among them, and not all of the kernels are Inductor's",
        applies=lambda data: (
            data.streaming and not all(name.startswith("triton_") for name in data.kernels)
        ),
        code="fn = torch.compile(fn)",
        since="2.0",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler.html",
    ),
    Remedy(
        id="descent",
        text="For Inductor's own kernels, let it search for block sizes.",
        when="kernels of Inductor are among them",
        applies=lambda data: any(name.startswith("triton_") for name in data.kernels),
        setting="torch._inductor.config.coordinate_descent_tuning = True",
        env="TORCHINDUCTOR_COORDINATE_DESCENT_TUNING=1",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler.html",
    ),
)
