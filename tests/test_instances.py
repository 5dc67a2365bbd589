"""Models that are made without asking twice are as those that are validated."""

from __future__ import annotations

import pickle
from typing import ClassVar

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from tracelens.instances import alike, lean, made
from tracelens.logs import Record


class Pair(Record):
    """A record for these tests."""

    from_code = True
    left: int = 1
    right: str = "r"
    rest: tuple[int, ...] = ()


class Loose(BaseModel):
    """A model that may be changed."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)
    left: int = 1
    right: int = 2


@pytest.mark.parametrize("values", [{}, {"left": 4}, {"rest": (1, 2), "left": 3, "right": "x"}])
def test_what_is_made_is_what_is_validated(values: dict[str, object]) -> None:
    plain, quick = Pair.model_validate(values), made(Pair, values)
    assert quick == plain
    assert hash(quick) == hash(plain)
    assert list(quick.__dict__) == list(plain.__dict__)
    assert quick.model_fields_set == plain.model_fields_set == set(values)
    assert quick.model_dump_json(exclude_unset=True) == plain.model_dump_json(exclude_unset=True)
    assert pickle.loads(pickle.dumps(quick)) == plain  # noqa: S301
    assert quick.model_copy(update={"right": "y"}).right == "y"
    assert quick.model_fields_set == set(values)
    with pytest.raises(ValidationError):
        quick.left = 2  # type: ignore[misc]


def test_a_model_alike_keeps_what_is_not_said_anew() -> None:
    first = Pair(left=2, right="a")
    assert alike(first, {"right": "b"}) == Pair(left=2, right="b")
    assert first == Pair(left=2, right="a")


def test_records_share_the_set_of_their_fields_and_a_copy_has_its_own() -> None:
    one, two = lean(Pair(left=1)), lean(Pair(left=2))
    assert one.__pydantic_fields_set__ is two.__pydantic_fields_set__
    copy = one.model_copy(update={"right": "x"})
    assert copy.model_fields_set == {"left", "right"}
    assert two.model_fields_set == {"left"}


def test_a_model_that_may_be_changed_keeps_its_own() -> None:
    one, two = lean(Loose(left=1)), lean(Loose(left=2))
    one.right = 3
    assert one.model_fields_set == {"left", "right"}
    assert two.model_fields_set == {"left"}
