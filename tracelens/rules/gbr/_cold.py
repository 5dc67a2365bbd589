"""Which graph breaks are in code that sets something up in the first call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.rules.gbr._break_data import Line

__all__ = ["cold_sites"]

#: What installs something for good, as the stack of a break names it.
INSTALLERS = frozenset(
    {
        "register_backward_hook",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_buffer",
        "register_parameter",
        "add_module",
    }
)
HANDLE = "RemovableHandle"


def cold_sites(known: Sequence[BreakSite]) -> tuple[list[BreakSite], tuple[Line, ...]]:
    """Return the breaks of set-up code, where hooks are installed first, and what sets it up."""
    setters = _setters(site for site in known if _installs(site))
    cold = [site for site in known if _installs(site) or _is_within(site, setters)]
    return sorted(cold, key=_installs, reverse=True), setters


def _installs(site: BreakSite) -> bool:
    """Whether the break is where a hook or the like is installed."""
    cause = site.record.cause
    context = cause.context if cause is not None else None
    told = (site.record.text, context.object if context is not None else "")
    called = {frame.function for frame in site.stack}
    return any(HANDLE in text for text in told) or bool(called & INSTALLERS)


def _setters(cold: Iterable[BreakSite]) -> tuple[Line, ...]:
    """Return the functions on the way to what is installed whose names say that they do it."""
    frames = (frame for site in cold for frame in site.stack)
    named = {
        (frame.file, frame.function): Line(
            file=frame.file, line=frame.line, function=frame.function
        )
        for frame in frames
        if user_code.sets_up(frame.function) and user_code.distance(frame.file) < 2
    }
    return tuple(named.values())


def _is_within(site: BreakSite, setters: tuple[Line, ...]) -> bool:
    """Whether the break is in one of these functions itself."""
    return bool(site.stack) and any(
        (site.stack[-1].file, site.stack[-1].function) == (one.file, one.function)
        for one in setters
    )
