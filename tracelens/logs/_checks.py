"""What a guard checks, typed: the reasons of recompiles, whichever version wrote them.

Two spellings of names occur, ``L['x'].shape`` up to torch 2.6 and ``x.shape`` from 2.7 on; a
:class:`Source` is the same for both.
"""

from __future__ import annotations

from typing import Literal

from tracelens.late import late
from tracelens.logs import Record
from tracelens.logs._comment import Comment, Said

__all__ = [
    "Aliasing",
    "Check",
    "Comment",
    "Deallocated",
    "Expression",
    "GlobalState",
    "IdentityCheck",
    "KeysCheck",
    "LengthCheck",
    "RangeCheck",
    "Relation",
    "Source",
    "TensorMismatch",
    "TypeCheck",
    "Unexplained",
    "ValueCheck",
]


#: What joins conditions, and one condition: two terms and what compares them.
_JOINED = late(r" (?:and|or) ")
_COMPARED = late(r"([^<>=!\n]{1,400}) (<=|>=|==|!=|<|>) ([^<>=!\n]{1,400})")
#: Dimensions of a tensor, as they are printed; torch allows 64.
_INDICES = frozenset(map(str, range(64)))


class Source(Record):
    """Where the guarded value comes from: a name of the frame, and the path from there."""

    #: ``L`` for a local, ``G`` for a global, empty where the log leaves it out (a local).
    scope: str = ""
    name: str
    #: ``.config.use_cache``, ``['labels'][0]``; empty for the name itself.
    path: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.path}"

    @property
    def is_variable(self) -> bool:
        """Whether it is an argument, a local or a closure variable, and not a part of one.

        What a call returned before a graph break, ``___stack0``, has no name in the program.
        """
        if self.scope == "G" or self.path or self.name.startswith("___stack"):
            return False
        return self.name.isidentifier()


class TensorMismatch(Said):
    """``tensor 'x' size mismatch at index 0. expected 4, actual 8``."""

    source: Source
    what: Literal[
        "size",
        "stride",
        "dtype",
        "rank",
        "requires_grad",
        "dispatch key set",
        "Tensor device index",
    ]
    #: The dimension; None where the property is the whole tensor's.
    index: int | None = None
    expected: str
    #: Empty for ``requires_grad``, which has two values only.
    actual: str = ""
    note: str = ""

    def __str__(self) -> str:
        at = "" if self.index is None else f" at index {self.index}"
        change = f"{self.expected} -> {self.actual}" if self.actual else f"was {self.expected}"
        return f"{self.what} of {self.source}{at}: {change}"


class ValueCheck(Said):
    """``n == 2``, ``mode is None``: a value that was fixed when the frame was compiled.

    Exactly one of the last five fields holds it.
    """

    source: Source
    operator: str = "=="
    integer: int | None = None
    number: float | None = None
    string: str | None = None
    constant: Literal["True", "False", "None"] | None = None
    other: str | None = None

    @property
    def value(self) -> str:
        """The value as it is printed."""
        held = (self.integer, self.number, self.string, self.constant, self.other)
        return next((str(value) for value in held if value is not None), "")

    def __str__(self) -> str:
        return f"{self.source} {self.operator} {self.value}"


class RangeCheck(Said):
    """``2 <= x.size()[0] <= 10``: the bounds of a symbolic size or number."""

    low: int
    subject: str
    high: int | None = None

    @property
    def dimension(self) -> tuple[str, int] | None:
        """The tensor and the dimension, where the subject is the size of one."""
        tensor, _, rest = self.subject.rpartition(".size()[")
        index = rest.removesuffix("]")
        return (tensor, int(index)) if tensor and index in _INDICES else None

    @property
    def is_zero_one(self) -> bool:
        """Whether it only says that a size is neither 0 nor 1, for which entries are their own."""
        return self.low == 2 and self.high is None and self.dimension is not None

    def __str__(self) -> str:
        return f"{self.low} <= {self.subject}" + ("" if self.high is None else f" <= {self.high}")


class Relation(Said):
    """``(x.size()[0] % 2) == 0``, ``k <= 2``: what must hold between symbolic numbers."""

    left: str
    comparison: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.comparison} {self.right}"


class IdentityCheck(Said):
    """``___check_obj_id(func.__code__, 94296119093600), type=<class 'code'>``: the same object."""

    source: Source
    #: The ``id()`` that was compiled for.
    object_id: int
    #: The class of that object, as Python prints it.
    held: str = ""

    def __str__(self) -> str:
        return f"{self.source} is another object"


class Deallocated(Said):
    """``Cache line invalidated because L['x'] got deallocated``: the object is gone."""

    source: Source

    def __str__(self) -> str:
        return f"{self.source} was deallocated"


class TypeCheck(Said):
    """``___check_type_id(layer, 94865264879952), type=<class 'GCNConv'>``: the same class."""

    source: Source
    object_id: int | None = None
    #: The class that was compiled for.
    held: str = ""
    #: The class that came instead, where torch tells.
    found: str = ""

    def __str__(self) -> str:
        return f"{self.source} is of another type"


class LengthCheck(Said):
    """``len(xs) == 1``, ``not args``: how many items a container holds."""

    source: Source
    operator: str = "=="
    length: int = 0

    def __str__(self) -> str:
        return f"len({self.source}) {self.operator} {self.length}"


class KeysCheck(Said):
    """``list(dict.keys(d))[0] == 'a'``, ``hasattr(x, 'y') == False``: which keys or attributes."""

    source: Source
    key: str = ""
    #: ``not `` where the entry is for a dict that does not hold the key.
    lacks: str = ""
    #: ``hasattr(`` or ``not hasattr(`` where it asks for an attribute.
    has: str = ""
    #: ``==`` in ``hasattr(x, 'y') == False``.
    operator: str = ""
    expected: str = ""

    def __str__(self) -> str:
        return f"{'attributes' if self.has else 'keys'} of {self.source}"


class GlobalState(Said):
    """``GLOBAL_STATE changed: grad_mode``: grad mode, autocast, threads, default dtype."""

    #: Which; empty in versions that do not say.
    changed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"global state: {', '.join(self.changed) or 'changed'}"


class Aliasing(Said):
    """``Duplicate tensors found: ['a', 'b']``: arguments that were different tensors are one."""

    #: Which, as printed; empty in versions that do not say.
    names: str = ""

    def __str__(self) -> str:
        return f"the same tensor twice: {self.names}" if self.names else "the same tensor twice"


class Unexplained(Said):
    """Torch itself found no guard that failed, or another backend object."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class Expression(Said):
    """A guard that is none of the others, as it stands."""

    text: str

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The conditions that it joins: ``a % 4 == 0 and b < c``; empty where one is none."""
        parts = [_whole(part) for part in _JOINED.split(self.text)]
        found = [_COMPARED.fullmatch(part) for part in parts]
        if len(parts) == 1 or not all(found):
            return ()
        return tuple(Relation(left=one[1], comparison=one[2], right=one[3]) for one in found if one)

    def __str__(self) -> str:
        return self.text


def _whole(part: str) -> str:
    """Return one of several conditions without the brackets that hold it, or more than it."""
    opened = part.count("(") - part.count(")")
    part = part[opened:] if opened > 0 and part.startswith("(" * opened) else part
    part = part[:opened] if opened < 0 and part.endswith(")" * -opened) else part
    inner = part[1:-1]
    is_held = part.startswith("(") and part.endswith(")") and _COMPARED.fullmatch(inner)
    return inner if is_held and inner.find("(") <= inner.find(")") else part


Check = (
    TensorMismatch
    | ValueCheck
    | RangeCheck
    | Relation
    | IdentityCheck
    | Deallocated
    | TypeCheck
    | LengthCheck
    | KeysCheck
    | GlobalState
    | Aliasing
    | Unexplained
    | Expression
)
