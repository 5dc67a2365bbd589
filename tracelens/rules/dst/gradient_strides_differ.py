"""DST003 gradient-strides-differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.warnings import TorchWarning
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule

__all__ = ["GradientStridesDiffer"]

#: The two lines below the warning.
_TENSOR = re.compile(
    r"(grad|bucket_view)\.sizes\(\) = \[([\d, ]{1,99})\], strides\(\) = \[([\d, ]{1,199})\]"
)
#: Number of dimensions -> the memory format in which channels come last.
_FORMATS = {4: "channels_last", 5: "channels_last_3d"}


class StridesData(FindingData):
    """The first gradient that lies in memory in another order than its place in the bucket."""

    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    bucket_strides: tuple[int, ...] = ()

    @property
    def is_same_layout(self) -> bool:
        """Whether the strides differ only where there is one element, so that nothing moves."""
        rows = zip(self.sizes, self.strides, self.bucket_strides, strict=False)
        return bool(self.sizes) and all(size == 1 or mine == its for size, mine, its in rows)

    @property
    def memory_format(self) -> str:
        """``channels_last`` where the gradient has it and the bucket has not; else empty."""
        ours, theirs = _last(self.strides), _last(self.bucket_strides)
        return _FORMATS.get(len(self.sizes), "") if ours and not theirs else ""


class GradientStridesDiffer(Rule):
    """DistributedDataParallel copies gradients into buckets that are laid out in another order.

    ## Why it matters
    DDP lays out its buckets as the parameters are when it is constructed. Where a parameter gets
    other strides later, its gradient does, too, and each step copies it into the bucket and back
    element by element instead of in one piece.

    ## What it looks like
    torch warns once per process, about the first such gradient:

        /home/ana/venv/lib/python3.11/site-packages/torch/autograd/graph.py:979: UserWarning: Grad strides do not match bucket view strides. This may indicate grad was not created according to the gradient layout contract, or that the param's strides changed since DDP was constructed.  This is not an error, but may impair performance.
        grad.sizes() = [64, 32, 3, 3], strides() = [288, 1, 96, 32]
        bucket_view.sizes() = [64, 32, 3, 3], strides() = [288, 9, 3, 1] (Triggered internally at /pytorch/torch/csrc/distributed/c10d/reducer.cpp:335.)
          return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass

    ## When it is harmless
    Where the strides differ in dimensions of size 1 only, as those of 1x1 convolutions in
    channels_last: torch compares numbers, but both tensors have the same memory layout. Such a
    finding has severity ``none``; of other gradients torch does not warn any more.

    ## What to do
    Construct DDP last, after the model's memory format and device are what they will be.

    ## How a live run confirms it
    Not: the program has to be changed. Recorded again, it has no such warning.

    ## See also
    TRC016 (collectives that nothing hides), ONE004 (memory formats).
    <https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "DST003"
    name = "gradient-strides-differ"
    severity = Severity.INFO
    moved_by: ClassVar = {"warnings.topic": {"gradient-strides"}}
    unconfirmable = IN_THE_PROGRAM
    Data = StridesData
    remedies = (
        Remedy(
            "format-before-ddp",
            "Convert the model's memory format before DDP is constructed: its buckets then have "
            "the strides of the gradients.",
            when="the gradient is in channels_last, and the bucket is not",
            applies=lambda data: bool(data.memory_format),
            code=lambda data: (
                f"model = model.to(memory_format=torch.{data.memory_format})\n"
                "model = torch.nn.parallel.DistributedDataParallel(model)"
            ),
            since="1.7",
            basis="tested",
            proof="tests/advice/DST003/format-before-ddp.py",
        ),
        Remedy(
            "ddp-last",
            "Construct DDP after everything that changes parameters: conversions of memory format, "
            "loaded or replaced tensors.",
            when="other strides",
            applies=lambda data: not data.memory_format and not data.is_same_layout,
            since="1.7",
            proof="https://docs.pytorch.org/docs/stable/generated/"
            "torch.nn.parallel.DistributedDataParallel.html",
        ),
    )

    def check(self, *, warnings: Table[TorchWarning]) -> Iterator[Finding]:
        """Yield one finding per pair of layouts; torch prints the warning without being asked."""
        groups: dict[StridesData, list[Seen[TorchWarning]]] = {}
        for row in warnings.where(lambda one: one.topic == "gradient-strides"):
            groups.setdefault(_read(row.record), []).append(row)
        for data, rows in groups.items():
            yield self._finding(data, rows)

    def _finding(self, data: StridesData, rows: list[Seen[TorchWarning]]) -> Finding:
        told = (
            f" The first gradient, of sizes {list(data.sizes)}, has strides "
            f"{list(data.strides)}, and its place in the bucket {list(data.bucket_strides)}."
            if data.sizes
            else " Where they differ in dimensions of size 1 only, as for 1x1 convolutions, that "
            "costs nothing: the sizes are in the lines below the warning."
        )
        return self.finding(
            *data.sizes,
            *data.strides,
            title="gradients and DDP's buckets have different strides",
            message="DDP copies each gradient into its bucket and back at every step, and the two "
            f"are laid out differently.{told} torch warns of one gradient per process.",
            confidence=Confidence.MEDIUM,
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in rows[:2]],
            harmless="the strides differ in dimensions of size 1 only: the layout is the same"
            if data.is_same_layout
            else None,
            advice=() if data.is_same_layout else self.advise(data),
            data=data,
        )


def _read(warning: TorchWarning) -> StridesData:
    """Return sizes and strides; empty where the lines below the warning are missing."""
    found = {
        match[1]: (_numbers(match[2]), _numbers(match[3]))
        for line in warning.details
        if (match := _TENSOR.search(line))
    }
    if len(found) < 2:
        return StridesData()
    (sizes, strides), (_, bucket) = found["grad"], found["bucket_view"]
    return StridesData(sizes=sizes, strides=strides, bucket_strides=bucket)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number.strip())


def _last(strides: tuple[int, ...]) -> bool:
    """Whether the channels, dimension 1, lie next to each other."""
    return len(strides) in _FORMATS and strides[1] == 1 and strides[-1] != 1
