"""What Dynamo says for its developers below an error, and how debuggers show one."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.late import late
from tracelens.logs._own_errors import GENERIC_ERRORS, OWN_ERRORS
from tracelens.logs.failures import Diagnostic, Episode, Raised, Said, Traced

__all__ = ["context_of", "shown"]

_CONTEXT = late(r"\s{0,40}Developer debug context: (\S[^\n]{0,400})")
#: How an editor's debugger shows an exception; what it says is in the next line.
_SHOWN = late(r"(?P<lead>.{0,20}Exception has occurred: )(?P<name>[\w.]{1,80})\s*(?:\(note: |$)")


def context_of(cause: str, lines: Iterable[str]) -> dict[str, str]:
    """Return it as ``context`` for an error that would be a graph break; the last one counts."""
    if cause not in {"fake-tensors", "fullgraph"}:
        return {}
    found = [match[1] for line in lines if (match := _CONTEXT.match(line))]
    return {"context": found[-1].rstrip()} if found else {}


def shown(episode: Episode) -> Episode:
    """Return an excerpt with torch's exception as Python prints it, where a debugger shows it.

    That Dynamo looks its code up and does not find it (``KeyError: <code object ...>``) comes
    before each error of a first compilation, and is none.
    """
    items: list[Traced | Raised | Diagnostic | Said] = []
    for item in episode.items:
        named = _SHOWN.match(items[-1].text) if items and isinstance(items[-1], Said) else None
        if named and isinstance(item, Said) and _is_torchs(named["name"]):
            said = Raised(lead=named["lead"], errors=(named["name"],), message=item.text)
            items[-1] = said.model_copy(update={"at": item.at})
        else:
            items.append(item)
    if any(isinstance(item, Raised) and not _is_lookup(item) for item in items):
        items = [item for item in items if not _is_lookup(item)]
    same = len(items) == len(episode.items)
    return episode if same else episode.model_copy(update={"items": tuple(items)})


def _is_torchs(name: str) -> bool:
    return name.rpartition(".")[2] in {*OWN_ERRORS, *GENERIC_ERRORS}


def _is_lookup(item: object) -> bool:
    return (
        isinstance(item, Raised)
        and item.errors[-1:] == ("KeyError",)
        and item.message.startswith("<code object ")
    )
