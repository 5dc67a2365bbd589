"""Guards on values, sizes and types as calls with the recorded ones."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.live.micro._calls import STATIC, Calls, Failed

__all__ = [
    "attribute",
    "dtypes",
    "first",
    "floats",
    "gradients",
    "integers",
    "lengths",
    "ones",
    "ranks",
    "sizes",
    "strides",
]

#: Values larger than this are not turned into sizes.
MAX_SIZE = 1 << 16
#: torch's names for the data types in guards.
_DTYPES = {
    "Float": "torch.float32",
    "Double": "torch.float64",
    "Half": "torch.float16",
    "BFloat16": "torch.bfloat16",
    "Int": "torch.int32",
    "Long": "torch.int64",
}


def _chain(found: list[Failed]) -> list[str]:
    """Return the expected and actual values in order, without repetitions."""
    texts = [text for check in found for text in (check.expected, check.actual) if text]
    return [text for text, last in zip(texts, ["", *texts], strict=False) if text != last]


def _numbers(texts: Iterable[str]) -> list[int]:
    found = [int(text) for text in texts if text.isdecimal() and len(text) < 10]
    return [number for number in found if 0 < number <= MAX_SIZE]


def _mismatches(found: list[Failed], what: str) -> list[Failed]:
    return [check for check in found if check.kind == what]


def sizes(checked: list[Failed]) -> Calls | None:
    """Return a tensor whose size changes: always static, or for the first time."""
    found = _mismatches(checked, "size")
    found = [check for check in found if check.dimension == found[0].dimension]
    sizes = _numbers(_chain(found))
    if not found or found[0].dimension is None or not 0 <= found[0].dimension < 8:
        return None
    index = found[0].dimension
    shapes = [tuple([8] * index + [size] + [8] * (index == 0)) for size in sizes]
    made = tuple(f"torch.randn({shape})" for shape in shapes)
    if len(sizes) > 2:
        title = f"dimension {index} of a tensor changes, compiled with {STATIC}"
        return Calls(title, made, "dynamic shapes", options=STATIC, changed_options="dynamic=True")
    return Calls(
        f"dimension {index} of a tensor changes for the first time",
        made,
        "dynamic shapes from the first call",
        changed_options="dynamic=True",
    )


def first(found: list[Failed]) -> Calls | None:
    """Return what changed for the first time: a size, or an integer."""
    return sizes(found) or integers(found)


def _whole(found: list[Failed]) -> list[int]:
    return [check.integer for check in found if check.kind == "value" and check.integer is not None]


def integers(found: list[Failed]) -> Calls | None:
    """Return an integer argument that takes the recorded values, and one more."""
    values = _whole(found)
    if not values or any(abs(value) > MAX_SIZE for value in values):
        return None
    values = [*values, max(values) + 1]
    static = len(values) > 2
    words = f", compiled with {STATIC}" if static else ""
    return Calls(
        f"an integer argument takes {len(values)} values{words}",
        tuple(f"x, {value!r}" for value in values),
        "the number is a tensor",
        parameters="x, n",
        body=("return torch.relu(x) + n",),
        options=STATIC if static else "",
        changed_arguments=tuple(f"x, torch.tensor({value!r})" for value in values),
    )


def floats(found: list[Failed]) -> Calls | None:
    """Return a float argument that takes the recorded values, and one more."""
    values = [check.number for check in found if check.kind == "value" and check.number is not None]
    if not values:
        return None
    values = [*values, max(values) + 1.0]
    return Calls(
        f"a float argument takes {len(values)} values, compiled with {STATIC}",
        tuple(f"x, {float(value)!r}" for value in values),
        "the number is a tensor",
        parameters="x, scale",
        body=("return torch.relu(x) * scale",),
        options=STATIC,
        changed_arguments=tuple(f"x, torch.tensor({float(value)!r})" for value in values),
    )


def attribute(found: list[Failed]) -> Calls | None:
    """Return an integer attribute of a module that takes the recorded values, and one more."""
    values = _whole(found)
    if not values or any(abs(value) > MAX_SIZE for value in values):
        return None
    values = [*values, max(values) + 1]
    return Calls(
        f"an integer attribute of a module takes {len(values)} values",
        tuple(f"at(layer, {value!r}), x" for value in values),
        "integer attributes of modules are dynamic",
        parameters="layer, x",
        body=("return torch.relu(x) + layer.step",),
        setting="torch._dynamo.config.allow_unspec_int_on_nn_module = True",
        structure="fewer",  # the first change compiles once more
        head=(
            "layer = torch.nn.Identity()",
            "",
            "",
            "def at(layer, step):",
            "    layer.step = step",
            "    return layer",
        ),
    )


def gradients(found: list[Failed]) -> Calls:
    del found
    return Calls(
        "a tensor with and without a gradient",
        ("torch.randn(16, 8)", "torch.randn(16, 8, requires_grad=True)"),
        "detached before the call",
        changed_arguments=(
            "torch.randn(16, 8)",
            "torch.randn(16, 8, requires_grad=True).detach()",
        ),
    )


def dtypes(found: list[Failed]) -> Calls | None:
    texts = _chain(_mismatches(found, "dtype"))
    names = [_DTYPES[text] for text in texts if text in _DTYPES]
    made = tuple(f"torch.ones((16, 8), dtype={name})" for name in names)
    return Calls(
        "a tensor of several data types",
        made,
        "converted before the call",
        changed_arguments=tuple(f"{text}.to({names[0]})" for text in made),
    )


def ranks(found: list[Failed]) -> Calls | None:
    texts = _chain(_mismatches(found, "rank"))
    ranks = [rank for rank in _numbers(texts) if rank <= 6]
    made = tuple(f"torch.randn({(4,) * (rank - 1) + (4 ** (7 - rank),)})" for rank in ranks)
    return Calls(
        "a tensor with a changing number of dimensions",
        made,
        "flattened before the call",
        changed_arguments=tuple(f"{text}.flatten()" for text in made),
    )


def strides(found: list[Failed]) -> Calls | None:
    if not _mismatches(found, "stride"):
        return None
    return Calls(
        "a tensor in several memory layouts",
        ("torch.randn(16, 16)", "torch.randn(16, 16).t()"),
        "made contiguous before the call",
        changed_arguments=("torch.randn(16, 16)", "torch.randn(16, 16).t().contiguous()"),
    )


def ones(found: list[Failed]) -> Calls | None:
    if not any(check.kind == "range" and check.integer == 2 for check in found):
        return None
    sizes = (4, 1)
    return Calls(
        "a size of 1 after another, compiled with dynamic=True",
        tuple(f"torch.randn({(size, 8)})" for size in sizes),
        "padded to 2 before the call",
        options="dynamic=True",
        changed_arguments=tuple(f"torch.randn({(max(2, size), 8)})" for size in sizes),
    )


def lengths(found: list[Failed]) -> Calls | None:
    told = [check.integer for check in found if check.kind == "length"]
    lengths = [length for length in told if length is not None and 0 < length <= 64]
    if not lengths:
        return None
    # A length of 1 would be compiled by itself even where sizes are dynamic.
    lengths = [length for length in (*lengths, max(lengths) + 1, max(lengths) + 2) if length > 1]
    return Calls(
        f"a list takes {len(lengths)} lengths",
        tuple(f"[x] * {int(length)}" for length in lengths),
        "stacked into a tensor, with dynamic shapes",
        parameters="xs",
        body=("return torch.stack(xs).sum(0)",),
        changed_arguments=tuple(f"torch.stack([x] * {int(length)})" for length in lengths),
        changed_options="dynamic=True",
        changed_body=("return xs.sum(0)",),
    )
