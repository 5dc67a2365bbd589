"""What is compiled beside a graph break is looked through once, however many breaks there are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tracelens.dynamo import beside
from tracelens.dynamo.calls import CompiledClasses


class Counted(dict[Any, Any]):
    """A dict that counts how many of its items were looked at."""

    seen = 0

    def items(self) -> Any:
        """Return the items, counted."""
        self.seen += len(self)
        return super().items()


def looked_at(number: int) -> int:
    owners = Counted({("a.log", "7", str(n)): (f"lib.K{n}", "forward") for n in range(number)})
    compiled = CompiledClasses({}, {}, {}, {}, {}, {}, set(), owners)
    torn = {("a.py", n): [("a.log", "7", str(n))] for n in range(number)}
    whole = beside._wholes(compiled, torn)
    for n in range(number):
        site: Any = SimpleNamespace(line=SimpleNamespace(file="a.py", line=n))
        assert beside._classes(site, torn, whole, compiled) == ()  # the others break as well
    return owners.seen


def test_four_times_the_breaks_look_at_four_times_the_functions() -> None:
    assert looked_at(400) == 4 * looked_at(100)
