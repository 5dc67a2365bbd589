"""What TRC035 advises about kernels of a GPU, by their form."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.trc._forms import Costly
from tracelens.rules.trc._on_device import ON_DEVICE

__all__ = ["REMEDIES_ON_DEVICE"]

_DOCS = "https://docs.pytorch.org/docs/stable/"
_LAYOUT = "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html"
_CHANNELS = (
    "model = model.to(memory_format=torch.channels_last)  # of volumes: torch.channels_last_3d\n"
    "x = x.to(memory_format=torch.channels_last)"
)


_COMPILE = "model = torch.compile(model)"


def _is_own(data: Costly) -> bool:
    return data.operator.startswith("at::") or "float8_copy" in data.operator


def _of(form: str, text: str, code: str | None, proof: str) -> Remedy:
    compiles = code == _COMPILE
    return Remedy(
        id=f"{form}-on-gpu",  # the CPU's forms have these names, too
        text=text,
        code=code,
        when=next(known.what for known in ON_DEVICE if known.id == form)
        + (", on a GPU, and nothing is compiled yet" if compiles else ", on a GPU"),
        applies=lambda data: (
            data.on_device and data.form == form and not (compiles and data.compiled)
        ),
        proof=proof,
    )


REMEDIES_ON_DEVICE = (
    Remedy(
        id="depthwise",
        text="In `channels_last` PyTorch gives depthwise convolutions to cuDNN.",
        code=_CHANNELS,
        when="depthwise convolutions in PyTorch's own kernels, on a GPU of NVIDIA",
        applies=lambda data: data.on_device and data.form == "depthwise" and not data.amd,
        proof=_LAYOUT,
    ),
    Remedy(
        id="miopen",
        text="See whether MIOpen is on: it takes depthwise convolutions that are not dilated.",
        code="torch.backends.cudnn.enabled = True",
        when="depthwise convolutions in PyTorch's own kernels, on a GPU of AMD",
        applies=lambda data: data.on_device and data.form == "depthwise" and data.amd,
        proof=_DOCS + "backends.html",
    ),
    _of(
        "grouped",
        "In half precision and `channels_last` cuDNN mostly has faster kernels for groups; fewer "
        "groups of more channels use tensor cores.",
        _CHANNELS,
        _LAYOUT,
    ),
    _of(
        "naive",
        "MIOpen takes it where nothing else fits. Let it measure what it has, and compare other "
        "types (float16, float32) and `channels_last`.",
        "torch.backends.cudnn.benchmark = True",
        "https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/debug-log.html",
    ),
    _of(
        "fallback",
        "cuDNN or MIOpen would compute these without patches: see that they are on, and that the "
        "type is one that they have (float32, float16, bfloat16 where the GPU has it).",
        "torch.backends.cudnn.enabled = True",
        _DOCS + "backends.html",
    ),
    _of(
        "unfolding",
        "Where patches are only multiplied with weights, convolve; the other way round it is "
        "`conv_transpose2d`.",
        "y = torch.nn.functional.conv2d(images, weight)",
        _DOCS + "generated/torch.nn.functional.unfold.html",
    ),
    _of(
        "coalesce",
        "It sorts the indices. Where they stay the same, coalesce once, before the loop, or keep "
        "the matrix in CSR, which needs no sorting.",
        "a = a.coalesce().to_sparse_csr()  # once",
        _DOCS + "sparse.html",
    ),
    _of(
        "unique",
        "It sorts all values, and the host waits for how many are different. Do it where batches "
        "are prepared, or once; sorted values need only `torch.unique_consecutive`.",
        "DataLoader(dataset, num_workers=4, collate_fn=with_unique_ids)",
        _DOCS + "generated/torch.unique.html",
    ),
    _of(
        "index-gradient",
        "It sorts the indices first; that of `index_select`, or of `embedding`, does not.",
        "y = x.index_select(0, index)",
        _DOCS + "generated/torch.index_select.html",
    ),
    _of(
        "sort",
        "Where the largest or the smallest are enough, take these alone.",
        "values, at = scores.topk(k)",
        _DOCS + "generated/torch.topk.html",
    ),
    _of(
        "top-p",
        "To sample from the most likely tokens, take the top k of them first, and sort and sum up "
        "these alone (with probabilities of the whole vocabulary it is exact where k of them "
        "exceed p); or use a sampler that rejects instead of sorting, as FlashInfer's "
        "`top_p_sampling_from_probs`.",
        "probs, at = logits.softmax(-1).topk(1024)  # sorted: top-p of these",
        _DOCS + "generated/torch.topk.html",
    ),
    _of(
        "inverse",
        "Where the inverse is only multiplied with something, solve instead, for all right sides "
        "at once.",
        "x = torch.linalg.solve(K, y)",
        _DOCS + "generated/torch.linalg.inv.html",
    ),
    _of(
        "svd",
        "Where singular values are enough, compute these alone.",
        "values = torch.linalg.svdvals(x)",
        _DOCS + "generated/torch.linalg.svdvals.html",
    ),
    _of(
        "interpolation-gradient",
        "A map of 1 x 1, as of a pooled branch, is the same everywhere when it is enlarged: expand "
        "it (a step of DeepLabV3 took 49 ms instead of 64). Of others interpolate fewer channels: "
        "where a 1 x 1 convolution follows that leaves fewer, it can as well come first.",
        "y = pooled.expand(-1, -1, *x.shape[-2:])  # of 1 x 1",
        _DOCS + "generated/torch.nn.functional.interpolate.html",
    ),
    _of(
        "antialias",
        "Resize where batches are prepared, once for each image; or on the GPU without "
        "`antialias`, where images get hardly smaller.",
        "DataLoader(dataset, num_workers=4, collate_fn=resized)",
        _DOCS + "generated/torch.nn.functional.interpolate.html",
    ),
    _of(
        "grid-gradient",
        "Where what is sampled needs no gradient, only the grid, detach it: then nothing is added.",
        "y = torch.nn.functional.grid_sample(x.detach(), grid)",
        _DOCS + "generated/torch.nn.functional.grid_sample.html",
    ),
    _of(
        "pool-gradient",
        "In `channels_last` the kernels are others, and mostly faster.",
        _CHANNELS,
        _LAYOUT,
    ),
    _of(
        "distances",
        "Euclidean distances can come from a product, a little less exactly.",
        'd = torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist")',
        _DOCS + "generated/torch.cdist.html",
    ),
    _of(
        "spectra",
        "Lengths of small prime factors take a fraction. Where zeros at the end do no harm, as "
        "for a convolution, pad to the next power of two.",
        "n = 1 << (x.shape[-1] - 1).bit_length()\nspectrum = torch.fft.rfft(x, n)",
        _DOCS + "fft.html",
    ),
    _of(
        "histogram",
        "Where it only reports, do it every N steps.",
        "if step % 100 == 0: report()",
        _DOCS + "generated/torch.bincount.html",
    ),
    _of(
        "scan",
        "Sum up along the last dimension: lay the tensor out that way before.",
        "y = x.transpose(0, -1).contiguous().cumsum(-1).transpose(0, -1)  # for: x.cumsum(0)",
        _DOCS + "generated/torch.cumsum.html",
    ),
    _of(
        "triangle",
        "Build the mask once for all layers; for a causal one, attention needs none.",
        "y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
        _DOCS + "generated/torch.nn.functional.scaled_dot_product_attention.html",
    ),
    _of(
        "dropout",
        "Compiled, dropout is fused with what is around it, draws its numbers again in the "
        "backward pass and keeps no mask.",
        _COMPILE,
        _DOCS + "torch.compiler.html",
    ),
    _of(
        "random",
        "Draw them once, where they may stay the same, or in the type in which they are used; "
        "compiled, they are drawn in the kernel that uses them.",
        "noise = torch.randn_like(x)  # x in bfloat16",
        _DOCS + "generated/torch.randn_like.html",
    ),
    _of(
        "fill",
        "Take memory with `torch.empty` where all of it is written anyway, and let gradients go "
        "instead of clearing them. With deterministic algorithms new tensors are filled, too, "
        "unless `torch.utils.deterministic.fill_uninitialized_memory` is off.",
        "optimizer.zero_grad(set_to_none=True)",
        _DOCS + "deterministic.html",
    ),
    _of(
        "ctc",
        "cuDNN's takes targets in one row, all lengths and targets as int32 (lengths of the input "
        "all alike, targets up to 256), and blank 0.",
        "row = torch.cat([one[:n] for one, n in zip(targets, target_lengths)])\n"
        "loss = torch.nn.functional.ctc_loss(log_probs, row.int().cpu(), "
        "input_lengths.int().cpu(), target_lengths.int().cpu(), blank=0)",
        _DOCS + "generated/torch.nn.CTCLoss.html",
    ),
    _of(
        "scatter",
        "Rows that are sorted by place once can be summed segment by segment.",
        'sums = torch.segment_reduce(rows, "sum", lengths=lengths)',
        _DOCS + "generated/torch.Tensor.scatter_add_.html",
    ),
    Remedy(
        id="quantizing",
        text="Compiled, scaling and converting are fused with what comes before the product. "
        "Weights that do not change are quantized once.",
        code=_COMPILE,
        when="PyTorch's own kernels quantize to fp8, on a GPU, and nothing is compiled yet",
        applies=lambda data: data.form == "quantizing" and _is_own(data) and not data.compiled,
        proof="https://github.com/pytorch/ao/tree/main/torchao/float8",
    ),
    Remedy(
        id="quantize-once",
        text="Weights that do not change are quantized once, before the loop.",
        when="another library's kernels quantize to fp8, on a GPU, or something is compiled",
        applies=lambda data: data.form == "quantizing" and (data.compiled or not _is_own(data)),
        proof="https://github.com/pytorch/ao/tree/main/torchao/float8",
    ),
    _of(
        "dequantizing",
        "Kernels that multiply packed weights do both at once (Marlin, AWQ's, GPTQ's); for "
        "large batches, weights in 16 bits need neither.",
        None,
        "https://docs.vllm.ai/en/latest/features/quantization/index.html",
    ),
    _of(
        "group-norm",
        "Compiled, it is fused with what is before and after it.",
        _COMPILE,
        _DOCS + "torch.compiler.html",
    ),
    _of(
        "batch-norm",
        "In `channels_last` cuDNN or better kernels take it. For inference, fold it into the "
        "convolution before it.",
        _CHANNELS,
        _LAYOUT,
    ),
    _of(
        "rows",
        "Memory is what limits it. Of tables: keep rows in half precision, and look up each id "
        "once. Of a cache that beam search reorders: keep the order as indices, and copy nothing.",
        "rows = table.half()[ids]",
        _DOCS + "generated/torch.index_select.html",
    ),
)
