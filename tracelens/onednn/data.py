"""What the findings about oneDNN tell programs: the primitives, in oneDNN's own notation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from tracelens.dynamo.run_facts import InRun
from tracelens.evidence import Seen, Table

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts

__all__ = [
    "PrimitiveData",
    "descriptors",
    "has_plain_weights",
    "has_wide_bias",
    "is_default_layout",
    "rank_of",
]

#: Longer descriptors are of no use to anybody.
MAX_DESCRIPTOR = 2000
#: Primitives that a finding tells of.
MAX_DESCRIPTORS = 3


class PrimitiveData(InRun):
    """What a finding about primitives is about. Times are steady: without first executions."""

    primitive: str = ""
    impl: str = ""
    #: Data types of all arguments: ``bf16``, or ``u8:s8:f32:u8``.
    dtypes: str = ""
    shape: str = ""
    #: The lines of the primitives that matter most, without times: a grammar reads them.
    descriptors: tuple[str, ...] = Field(default=(), description="oneDNN lines without times")
    ms: float | None = None
    #: Part of all oneDNN execution time, between 0 and 1.
    share: float | None = None

    @classmethod
    def about(cls, facts: Table[RunFacts], rows: Sequence[Seen[Any]], **own: Any) -> Self:
        """Return the data of a finding about ``rows``, the first of which matters most."""
        run = rows[0].record
        told = {
            "primitive": run.primitive,
            "impl": run.impl,
            "dtypes": run.precision,
            "shape": run.shape,
            "descriptors": descriptors(rows[:MAX_DESCRIPTORS]),
        }
        return cls.of(facts, **{**told, **own})

    @property
    def stored(self) -> frozenset[str]:
        """The data types, each once."""
        return frozenset(self.dtypes.split(":"))


def descriptors(rows: Iterable[Seen[Any]]) -> tuple[str, ...]:
    """Return the lines of ``rows`` without their times."""
    texts = (row.text.partition("\n")[0] for row in rows)
    return tuple(dict.fromkeys(text for text in texts if len(text) <= MAX_DESCRIPTOR))


def is_default_layout(run: Any) -> bool:
    """Whether the image lies as ``batch, channels, height, width``."""
    images = [md for md in run.mds if md.arg in {"src", "diff_src", "diff_dst"}]
    return any(md.is_plain and md.tag == "".join(sorted(md.tag)) for md in images)


def has_plain_weights(run: Any) -> bool:
    """Whether the weights lie as torch stores them, and the image has its channels last.

    The gradient of the weights is what a pass writes: the model's own layout does not decide it.
    """
    if run.prop_kind == "backward_weights":
        return False
    images = [md for md in run.mds if md.arg == "src" and md.is_plain]
    weights = [md for md in run.mds if md.arg == "wei" and md.is_plain]
    plain = [md.tag == "".join(sorted(md.tag)) for md in weights]
    return len(plain) == 1 and all(plain) and bool(images) and not is_default_layout(run)


def has_wide_bias(run: Any) -> bool:
    """Whether the bias of a product is more than one row along its last dimension.

    The mask that oneDNN prints has a bit for each dimension of the bias that is not 1.
    """
    mask = next((md.mask for md in run.mds if md.arg == "bia"), None)
    target = next((md.tag for md in run.mds if md.arg == "dst"), "")
    rank = len({letter for letter in target.lower() if letter.isalpha()})
    return run.primitive == "matmul" and bool(mask) and rank > 1 and mask != 1 << (rank - 1)


def rank_of(run: Any) -> int | None:
    """Return the dimensions of what ``run`` reads: 4 for images; None where that is not known.

    torch hands a signal of 3 dimensions over as an image of height 1.
    """
    tag = next((md.tag for md in run.mds if md.arg in {"src", "data", "diff_dst"}), "")
    rank = len({letter for letter in tag.lower() if letter.isalpha()})
    sizes = run.problem.named if rank == 4 else {}
    return 3 if sizes.get("ih") == 1 == sizes.get("kh") else rank or None
