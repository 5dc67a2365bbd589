"""The command of benchdnn, oneDNN's own test program, that runs the primitive of a log line.

Options as documented in oneDNN's ``tests/benchdnn/doc`` (``driver_*.md``, ``knobs_*.md``; read at
3.12). A format that torch left open (``a`` in the descriptor) is left open here: ``any``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tracelens.logs._onednn_parts import MemoryDescriptor, PostOp, Scale, ZeroPoint

if TYPE_CHECKING:
    from tracelens.logs.onednn_verbose import Primitive

__all__ = ["command"]

#: Post-operations that are no element-wise function; the rest lose the prefix of their family.
_SCALE_VALUE, _ZERO_VALUE = "0.5", "2"


def command(run: Primitive) -> str:
    """Return the command line; empty for a primitive or a problem that has none."""
    driver = _DRIVERS.get(run.primitive)
    if driver is None or "*" in run.shape or not run.engine.startswith(("cpu", "gpu")):
        return ""
    words = list(driver(run))
    if not words:
        return ""
    engine = run.engine.partition(":")[0]
    return " ".join(("./benchdnn --mode=P", f"--engine={engine}", *words, run.shape))


def _products(run: Primitive) -> Iterator[str]:
    if len(run.problem.tensors) != 2:
        return
    yield "--matmul"
    yield f"--dt={_types(run, 'src', 'wei', 'dst')}"
    bias = _md(run, "bia")
    if bias is not None:
        mask = 1 << (len(run.problem.tensors[0].split("x")) - 1) if bias.mask is None else bias.mask
        yield f"--bia-dt={bias.dtype} --bia_mask={mask}"
    yield from _tags(run, "src", "wei", "dst")
    yield from _attributes(run)


def _layers(run: Primitive) -> Iterator[str]:
    """Yield the options of ``--ip``, ``--conv`` and ``--deconv``, which are alike."""
    yield {"inner_product": "--ip", "convolution": "--conv"}.get(run.primitive, "--deconv")
    backwards = run.prop_kind.removeprefix("backward_") if run.is_training else ""
    bias = _md(run, "bia")
    forward = "FWD_I" if run.prop_kind == "forward_inference" else "FWD_B" if bias else "FWD_D"
    direction = {"": forward, "data": "BWD_D", "weights": "BWD_WB" if bias else "BWD_W"}
    yield f"--dir={direction.get(backwards, 'BWD_D')}"
    yield f"--dt={_types(run, 'src', 'wei', 'dst')}"
    if bias is not None:
        yield f"--bia-dt={bias.dtype}"
    yield from _tags(run, "src", "wei", "dst")
    yield from _attributes(run)


def _reorder(run: Primitive) -> Iterator[str]:
    source, target = _md(run, "src"), _md(run, "dst")
    if source is None or target is None or "opaque" in {source.kind, target.kind}:
        return
    yield f"--reorder --sdt={source.dtype} --ddt={target.dtype}"
    if source.strides or target.strides:
        yield f"--strides={source.strides}:{target.strides}"
    yield from (f"--{n}tag={md.tag}" for n, md in (("s", source), ("d", target)) if not md.strides)
    yield from _attributes(run)


def _eltwise(run: Primitive) -> Iterator[str]:
    data = _md(run, "data") or _md(run, "src")
    algorithm = run.setting("alg").removeprefix("eltwise_")
    if data is None or not algorithm:
        return
    direction = "BWD_D" if run.is_training else "FWD_D"
    yield f"--eltwise --dir={direction} --dt={data.dtype} --tag={data.tag} --alg={algorithm}"
    yield from (f"--{key}={run.setting(key)}" for key in ("alpha", "beta") if run.setting(key))
    yield from _attributes(run)


def _softmax(run: Primitive) -> Iterator[str]:
    source, target = _md(run, "src"), _md(run, "dst")
    if source is None or target is None or run.is_training:
        return
    direction = "FWD_I" if run.prop_kind == "forward_inference" else "FWD_D"
    yield f"--softmax --dir={direction} --sdt={source.dtype} --ddt={target.dtype}"
    yield f"--stag={source.tag} --dtag={_tag(target)}"
    yield f"--alg={run.setting('alg')} --axis={run.setting('axis')}"
    yield from _attributes(run)


def _pair(run: Primitive) -> Iterator[str]:
    """Yield the options of ``--binary`` and ``--sum``."""
    sources = [md for md in run.mds if md.arg.startswith("src")]
    target = _md(run, "dst")
    if len(sources) < 2 or target is None:
        return
    yield f"--{run.primitive} --sdt={':'.join(md.dtype for md in sources)} --ddt={target.dtype}"
    yield f"--stag={':'.join(md.tag for md in sources)} --dtag={_tag(target)}"
    if run.primitive == "binary":
        yield f"--alg={run.setting('alg').removeprefix('binary_')}"
    yield from _attributes(run)


def _recurrent(run: Primitive) -> Iterator[str]:
    types = set(run.dtypes.values())
    direction = run.setting("direction").removeprefix("unidirectional_")
    if len(types) != 1 or not direction:
        return
    kinds = {"forward_inference": "FWD_I", "forward_training": "FWD_D", "backward": "BWD_DW"}
    yield f"--rnn --prop={kinds.get(run.prop_kind, 'FWD_I')} --cfg={min(types)}"
    yield f"--alg={run.setting('alg').upper()} --direction={direction}"
    yield from _attributes(run)


_DRIVERS: dict[str, Callable[[Primitive], Iterator[str]]] = {
    "matmul": _products,
    "inner_product": _layers,
    "convolution": _layers,
    "deconvolution": _layers,
    "reorder": _reorder,
    "eltwise": _eltwise,
    "softmax": _softmax,
    "binary": _pair,
    "sum": _pair,
    "rnn": _recurrent,
}


def _md(run: Primitive, arg: str) -> MemoryDescriptor | None:
    """Return an argument that is there; in a backward pass it may be called ``diff_src``."""
    names = {arg, f"diff_{arg}"}
    return next((md for md in run.mds if md.arg in names and md.dtype != "undef"), None)


def _types(run: Primitive, *args: str) -> str:
    return ":".join(md.dtype if (md := _md(run, arg)) else "undef" for arg in args)


def _tag(md: MemoryDescriptor) -> str:
    """Return the format to ask for: ``any`` where torch left it open, or where it has no name."""
    return md.tag if md.kind == "blocked" and "a" not in md.props and md.tag else "any"


def _tags(run: Primitive, *args: str) -> Iterator[str]:
    """Yield the memory formats of source, weights and destination; strides where not dense."""
    found = [_md(run, arg) for arg in args]
    if any(md is not None and md.strides for md in found):
        yield "--strides=" + ":".join(md.strides if md is not None else "" for md in found)
    for letter, md in zip("swd", found, strict=True):
        if md is not None and not md.strides:
            yield f"--{letter}tag={_tag(md)}"


def _attributes(run: Primitive) -> Iterator[str]:
    attributes = run.attributes
    if attributes.scratchpad:
        yield f"--attr-scratchpad={attributes.scratchpad}"
    if attributes.fpmath:
        yield f"--attr-fpmath={attributes.fpmath}"
    if attributes.scales:
        yield "--attr-scales=" + "+".join(_valued(s, _SCALE_VALUE) for s in attributes.scales)
    if attributes.zero_points:
        yield "--attr-zero-points=" + "+".join(
            _valued(zero, _ZERO_VALUE) for zero in attributes.zero_points
        )
    if attributes.post_ops:
        yield "--attr-post-ops=" + "+".join(map(_post_op, attributes.post_ops))


def _valued(attribute: Scale | ZeroPoint, value: str) -> str:
    """Return scale or zero point; one for the whole tensor (mask 0) needs a value."""
    mask, _, rest = attribute.detail.partition(":")
    scaled = "src" if attribute.scaled == "src0" else attribute.scaled
    parts = [scaled, mask, *([value] if mask == "0" else []), *([rest] if rest else [])]
    return ":".join(parts)


def _post_op(op: PostOp) -> str:
    name = op.op.removeprefix("eltwise_").removeprefix("binary_")
    return f"{name}:{op.detail}" if op.detail else name
