"""To how many CPUs a variable of the environment ties the threads of OpenMP."""

from __future__ import annotations

from tracelens.late import late

__all__ = ["bound_to"]

#: CPUs that are counted: what names more names enough.
MAX_CPUS = 4_096
_SPAN = late(r"(\d{1,5})(?:-(\d{1,5})(?::(\d{1,4}))?)?")
_PROCLIST = late(r"proclist=\[([0-9,:-]{1,400})\]")


def bound_to(name: str, value: str) -> int | None:
    """Return how many CPUs a list names; None where there is no such list, or it is not read.

    ``GOMP_CPU_AFFINITY`` is such a list (``0 3 1-2 4-15:2``), ``KMP_AFFINITY`` may hold one
    (``explicit,proclist=[0]``). Places of ``OMP_PLACES`` can be names of what the machine has.
    """
    if name == "GOMP_CPU_AFFINITY":
        listed = value
    elif name == "KMP_AFFINITY" and "explicit" in value:
        found = _PROCLIST.search(value)
        listed = found[1] if found else ""
    else:
        return None
    cpus: set[int] = set()
    for word in listed.replace(",", " ").split():
        span = _SPAN.fullmatch(word)
        if span is None:
            return None
        first, last, step = int(span[1]), int(span[2] or span[1]), int(span[3] or 1)
        cpus.update(range(first, min(last, first + MAX_CPUS) + 1, max(1, step)))
    return len(cpus) or None
