"""Whether words that other programs print, too, are torch's, or an engine's that runs on it."""

from __future__ import annotations

from tracelens.late import late
from tracelens.logs._own_errors import GENERIC_ERRORS, OWN_ERRORS
from tracelens.logs.failures import Diagnostic, Episode, Raised, Said, Traced

__all__ = ["Item", "is_at_home", "is_elsewhere", "is_own_name", "line_of"]

Item = Traced | Raised | Diagnostic | Said
#: What tells of torch.
_TORCH = late(
    r"(?<![A-Za-z])torch(?:[._/\\]|vision|audio|ao)|TORCH|[Tt]riton\b|nductor|[Dd]ynamo|PyTorch"
)
#: What tells of an engine that serves models.
_ENGINE = late(
    r"\bvllm\b|\bVLLM_|sglang|EngineCore|[Ee]ngine core|Engine process|WorkerProc"
    r"|please check the stack trace above"
)
#: A mode of torch.compile.
_MODES = late(r"reduce-overhead|max-autotune|" + _TORCH.pattern)
#: Causes whose words others print, too, and what is to stand around them.
_HOMES = {
    "compile-option": _MODES,
    "constraint": _TORCH,
    "engine-died": _ENGINE,
    "engine-start": _ENGINE,
    "inference-tensor": _TORCH,
    "kernel-code": _TORCH,
    "no-user": _TORCH,
}
#: A call of a function that is named as one for tensors without data, or as a stub of a test.
_FAKE = late(r"\w_fake(?:_impl)?\(\) ")
_GENERIC = late(r"\b(?:" + "|".join(sorted(GENERIC_ERRORS)) + r")\b")


def line_of(item: Item) -> str:
    """Return a line as it was printed."""
    if isinstance(item, Raised):
        return f"{item.lead}{': '.join(item.errors)}: {item.message}{item.bare}"
    if isinstance(item, Diagnostic):
        return item.diagnostic
    if isinstance(item, Said):
        return item.text
    return f'File "{item.place}", line {item.number}, in {item.function}'


def is_at_home(episode: Episode) -> bool:
    """Tell whether anything there tells of torch."""
    return episode.torch or any(_TORCH.search(line_of(one)) for one in episode.items)


def _is_of(cause: str, episode: Episode) -> bool:
    """Tell whether what stands around the words of one of ``_HOMES`` tells whose they are.

    A message alone, without a traceback, is what somebody copied who knows.
    """
    if any(_HOMES[cause].search(line_of(one)) for one in episode.items):
        return True
    return not cause.startswith("engine") and not any(
        isinstance(one, Traced) for one in episode.items
    )


def is_elsewhere(cause: str, item: Item, episode: Episode) -> bool:
    """Tell whether what a line says of ``cause`` is another program's."""
    if cause == "fake-tensors" and _FAKE.search(line_of(item)) and _is_elsewhere(episode):
        return True
    return _is_foreign(item, episode) or (cause in _HOMES and not _is_of(cause, episode))


def _is_foreign(item: Item, episode: Episode) -> bool:
    """Tell whether a name that is torch's, too, is another program's there."""
    if isinstance(item, Raised):
        names = [name for name in item.errors if name.rpartition(".")[2] in GENERIC_ERRORS]
        return bool(names) and not any(_belongs(name, episode) for name in names)
    said = isinstance(item, Said) and _GENERIC.search(item.text)
    return bool(said) and _is_elsewhere(episode)


def is_own_name(name: str, episode: Episode) -> bool:
    """Tell whether ``name``, with its module or bare, is an exception of torch's compiler."""
    return name.rpartition(".")[2] in OWN_ERRORS and _belongs(name, episode)


def _belongs(name: str, episode: Episode) -> bool:
    module, _, last = name.rpartition(".")
    own = module.startswith(("torch.", "triton.")) or module in {"torch", "triton"}
    return last not in GENERIC_ERRORS or own or (not module and not _is_elsewhere(episode))


def _is_elsewhere(episode: Episode) -> bool:
    """Tell whether it is a traceback without a sign of torch; notebooks print no modules."""
    return any(isinstance(one, Traced) for one in episode.items) and not is_at_home(episode)
