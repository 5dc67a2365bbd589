"""What code of a pack has replaced in ours, or in what ours stands on, is put back.

A pack is imported into the process that judges, where it can replace any function. That is noticed
where it was called, undone, and named; what is built in then says what it always says. Nothing is
confined by that: a pack that wants to do harm can, and a pack that patches in good faith is told.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from tracelens import context
from tracelens.errors import PluginError
from tracelens.timelimit import limited

__all__ = ["Replaced", "careful", "put_back", "remember"]

OURS = "tracelens"
#: What ours stands on. There, only what belongs to a pack counts: others change their own state.
UNDER_US = frozenset(
    """
    builtins codecs collections functools hashlib io itertools json os pathlib posixpath re sys
    time typing isal jinja2 lark msgspec pydantic pydantic_core rich typer
    """.split()  # noqa: SIM905 -- a text is read, a list of so many is not
)
#: Names with underscores on both sides change by themselves, but for what makes an object act.
ACTING = frozenset(
    """
    __bool__ __call__ __contains__ __eq__ __format__ __ge__ __getattr__ __getattribute__
    __getitem__ __gt__ __hash__ __init__ __iter__ __le__ __len__ __lt__ __ne__ __new__ __next__
    __repr__ __setattr__ __str__
    """.split()  # noqa: SIM905 -- a text is read, a list of so many is not
)
_GONE = object()


class Replaced(NamedTuple):
    """Something that is no longer what it was, until it was put back."""

    #: As ``module.name`` or ``module.class.name``.
    name: str
    #: The top-level package of what stood there instead.
    by: str


class _Held(NamedTuple):
    """The names of a module or class, as they were."""

    owner: ModuleType | type
    name: str
    #: All of them, and those whose change counts.
    whole: dict[str, Any]
    values: dict[str, Any]
    #: The code and the defaults of the functions among them.
    codes: tuple[tuple[FunctionType, Any, Any, Any], ...]


#: Modules and classes by name, as they were when they had just been imported.
_held: dict[str, list[_Held]] = {}


class _Watcher:
    """Remembers modules of ours that are imported later, before a pack gets to see them."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(f"{OURS}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            whole = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                whole(module)
                _held.setdefault(fullname, list(_read(fullname, module)))

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def remember() -> None:
    """Note what there is, before code of a pack is run for the first time."""
    if not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())
    for name, module in list(sys.modules.items()):
        if name not in _held and (_is_ours(name) or name.partition(".")[0] in UNDER_US):
            _held[name] = list(_read(name, module))


@contextmanager
def careful(distribution: str, package: str) -> Iterator[None]:
    """Call code of a pack in the block: for a limited time, and what it replaces is put back.

    Args:
        distribution: Whose code it is; empty for ours, which is called as it is.
        package: The top-level package that it is in.

    Raises:
        PluginError: The block has replaced something, or taken too long.
    """
    if not distribution:
        yield
        return
    remember()
    try:
        with limited(context.current().pack_seconds):
            yield
    except BaseException:
        put_back({package})
        raise
    if replaced := put_back({package}):
        raise PluginError(said(replaced))


def said(replaced: list[Replaced]) -> str:
    """Return what was replaced, in words."""
    more = f" and {len(replaced) - 1} more" if len(replaced) > 1 else ""
    return f"replaces {replaced[0].name}{more}, which was put back"


def put_back(packages: Collection[str]) -> list[Replaced]:
    """Undo what was replaced since :func:`remember`, and return it.

    Args:
        packages: The top-level packages that hold code of packs.
    """
    theirs = frozenset(packages)
    held = [one for module in list(_held.values()) for one in module]
    return [replaced for one in held for replaced in _put_back(one, theirs)]


def _put_back(held: _Held, theirs: frozenset[str]) -> Iterator[Replaced]:
    now = vars(held.owner)
    if not _is_same(held.whole, now):
        yield from _names_put_back(held, now, theirs)
    for function, code, defaults, named in held.codes:
        if (
            function.__code__ is not code
            or function.__defaults__ is not defaults
            or function.__kwdefaults__ is not named
        ):
            function.__code__, function.__defaults__ = code, defaults
            function.__kwdefaults__ = named
            yield Replaced(f"{held.name}.{function.__name__}", _home(function))


def _is_same(whole: dict[str, Any], now: Mapping[str, Any]) -> bool:
    """Tell whether nothing has changed: identity is looked at first, so that it costs little."""
    try:
        return len(whole) == len(now) and bool(whole == now)
    except Exception:  # two that are not the same object, and cannot be compared
        return False


def _names_put_back(
    held: _Held, now: Mapping[str, Any], theirs: frozenset[str]
) -> Iterator[Replaced]:
    ours = _is_ours(held.name)
    for name, value in held.values.items():
        new = now.get(name, _GONE)
        if new is not value and (_home(new) in theirs or (ours and not name.startswith("_abc_"))):
            setattr(held.owner, name, value)
            yield Replaced(f"{held.name}.{name}", _home(new))
    for name in [name for name in now if name not in held.values and _acts(name)]:
        if _home(now[name]) in theirs and not isinstance(now[name], ModuleType):
            by = _home(now[name])
            delattr(held.owner, name)
            yield Replaced(f"{held.name}.{name}", by)


def _read(name: str, module: ModuleType) -> Iterator[_Held]:
    """Yield a module and the classes that it defines, those of C left out."""
    yield _of(module, name)
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == name and _is_open(value):
            yield _of(value, f"{name}.{value.__qualname__}")


def _of(owner: ModuleType | type, name: str) -> _Held:
    values = {key: value for key, value in vars(owner).items() if _acts(key)}
    functions = [function for function in map(_function, values.values()) if function is not None]
    codes = [(f, f.__code__, f.__defaults__, f.__kwdefaults__) for f in functions]
    return _Held(owner, name, dict(vars(owner)), values, tuple(codes))


def _function(value: object) -> FunctionType | None:
    inner: Any = getattr(value, "fget", None) or getattr(value, "__func__", value)
    return inner if isinstance(inner, FunctionType) else None


def _acts(name: str) -> bool:
    return name in ACTING or not (name.startswith("__") and name.endswith("__"))


def _is_open(cls: type) -> bool:
    """Tell whether attributes of a class can be set: it is no class of C."""
    return bool(cls.__flags__ & 1 << 9)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == OURS


def _home(value: object) -> str:
    """Return the top-level package that a function, a class or an object's class is of."""
    inner = _function(value)
    if inner is not None:  # ``functools.wraps`` changes what it says of itself
        module = inner.__globals__.get("__name__")
    else:
        module = getattr(value if isinstance(value, type) else type(value), "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""
