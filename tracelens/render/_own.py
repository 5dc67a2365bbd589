"""What is the user's own in a report, replaced: files, lines of code, names of functions.

A level holds those before it: ``paths``, ``source``, ``all``. Names of people and secrets have been
replaced before; see :mod:`tracelens.render._redact`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from pathlib import PurePosixPath
from typing import Any

from tracelens.late import late
from tracelens.render._code import after_place, codes, is_code, told
from tracelens.render._secrets import is_common

__all__ = ["LEVELS", "without_own"]

LEVELS = ("paths", "source", "all")
#: Values that are ours: of fixed words, or numbers of findings, or settings of torch.
_KEPT = frozenset(
    """
    severity confidence verdict ended state basis outcome predicted version torch onednn isa cpu
    device explained_by run id family kind watched proof env needs sha256 since until suppressed_by
    scope gb tool schema_version writers writer ranks
    """.split()  # noqa: SIM905 -- read as a list of words
)
_FILES = {"file", "path", "input", "inputs", "lost_in", "script"}
_NAMES = {"function", "lost", "callable", "qualname", "source", "module", "caller", "callee"}
_RULE = late(r"[A-Z]{3}\d{3}")
#: A path from the root, a home or a drive; not of a library, of the system or of torch's cache.
_PATH = late(
    r"(?<![\w.~<>:/\\-])(?:~(?:user\d{1,4})?|/(?!usr/|lib|opt/|proc/|dev/|sys/|etc/|bin/)[\w.@+-]{1,99}"
    r"|[A-Za-z]:)(?:[/\\]{1,2}[\w.@+-]{1,99}){1,40}"
)
_LIBRARY = late(r"<site-packages>|(?:site|dist)-packages|torchinductor_|/lib/python\d|^<")
#: Where a name of the user's stands for certain.
_NAMED = late(
    r"(?:\.py\"?:\d{1,7} in |line \d{1,7}, in |\b[LG]\[['\"]|_(?:modules|parameters|buffers)\[['\"]"
    r"|\bself\.|\bdef |\bclass |\bfunction '|<function |\bsize of )(?P<name>[A-Za-z_]\w{2,99})"
)
#: Where what was learnt may begin, and how many characters of it are looked up first.
_START = late(r"(?<![\w<])(?<![\w.>~-][/\\])(?=\S)")
_GOES_ON = late(r"[\w>]")
BEGINNING = 3
_WORD = late(r"(?<![\w<])[A-Za-z_]\w*(?![\w>])")
#: Words of torch and of its logs, beside those that are common.
_TORCHS = frozenset(
    """
    addmm attention autograd baddbmm batch_norm bmm break call_function cat clone compiled conv1d
    conv2d dropout dtype embedding entry exp flatten item layer_norm mean mul mutated norm numpy ops
    permute print repeat reshape sigmoid silu size stack stride sub tanh tolist transpose
    unsqueeze recompile recompiles wrapper_fxn requires_grad training grad_mode
    """.split()  # noqa: SIM905 -- read as a list of words
)


def without_own(data: Any, level: str) -> tuple[Any, int]:
    """Return a report's JSON value without what is the user's, and how much was replaced."""
    own = _Own(LEVELS.index(level))
    own.learn(data)
    own.ready()
    return own.change(data), own.count


class _Own:
    """What was learnt, and what it is called instead."""

    def __init__(self, depth: int) -> None:
        self.count = 0
        self._depth = depth
        self._called: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        #: Lengths of what was learnt, the longest first, by its beginning.
        self._lengths: dict[str, list[int]] = {}

    def learn(self, data: Any, key: str = "") -> None:
        """Remember files, lines and names in a JSON value."""
        if isinstance(data, dict):
            foreign = bool(_LIBRARY.search(str(data.get("file", ""))))
            ours = "basis" in data and "text" in data  # advice
            for name, value in data.items():
                if not (foreign and name in {*_NAMES, "code"}) and not (ours and name == "code"):
                    self.learn(value, name)
        elif isinstance(data, list):
            for value in data:
                self.learn(value, key)
        elif isinstance(data, str) and key not in _KEPT:
            self._learn_text(data, key)

    def _learn_text(self, text: str, key: str) -> None:
        if key in _FILES and text and text != "-" and not _LIBRARY.search(text):
            self._add_file(text)
        for match in _PATH.finditer(text):
            if not _LIBRARY.search(match[0]):
                self._add_file(match[0])
        if self._depth >= LEVELS.index("source"):
            quoted = told(text) if key in {"title", "message"} else ()
            placed = after_place(text) if key == "lines" else ()
            for code in (*codes(text), *quoted, *placed):
                self._add("code", code)
            if key == "code" and not _RULE.fullmatch(text) and len(text) > 3:
                self._add("code", text)
        if self._depth >= LEVELS.index("all"):
            for match in _NAMED.finditer(text):
                self._add_name(match["name"])
            if key in _NAMES:
                for name in re.findall(r"[A-Za-z_]\w*", text):
                    self._add_name(name)

    def _add_file(self, path: str) -> None:
        parts = [part for part in re.split(r"[/\\]+", path) if part not in {"", ".", ".."}]
        if not parts:
            return
        suffix = PurePosixPath(parts[-1]).suffix
        called = self._called.get(path) or f"<file{self._next('file')}>{suffix}"
        self._called.setdefault(path, called)
        if suffix:
            for start in range(1, len(parts)):
                self._called.setdefault("/".join(parts[start:]), called)

    def _add_name(self, name: str) -> None:
        stays = keyword.iskeyword(name) or hasattr(builtins, name) or name.startswith("__")
        if len(name) > 2 and not (stays or is_common(name) or name in _TORCHS | self._names.keys()):
            self._names[name] = f"<name{len(self._names) + 1}>"

    def _add(self, label: str, text: str) -> None:
        if len(text) >= BEGINNING and text not in self._called:
            self._called[text] = f"<{label}{self._next(label)}>"

    def _next(self, label: str) -> int:
        self._numbers[label] = self._numbers.get(label, 0) + 1
        return self._numbers[label]

    def ready(self) -> None:
        """Index what was learnt: an alternative of thousands would be tried at every word."""
        lengths: dict[str, set[int]] = {}
        for text in self._called:
            lengths.setdefault(text[:BEGINNING], set()).add(len(text))
        self._lengths = {key: sorted(held, reverse=True) for key, held in lengths.items()}

    def change(self, data: Any, key: str = "") -> Any:
        """Return a JSON value with what was learnt replaced; keys stay."""
        if isinstance(data, dict):
            quotes = {"input", "line"} <= data.keys()
            return {
                name: self.change(value, "quoted" if quotes and name == "text" else name)
                for name, value in data.items()
            }
        if isinstance(data, list):
            return [self.change(value, key) for value in data]
        if not isinstance(data, str) or key in _KEPT or _RULE.fullmatch(data):
            return data
        if key == "quoted" and self._depth >= LEVELS.index("source") and is_code(data):
            self._add("code", data.strip())
            self.count += 1
            return self._called.get(data.strip(), "<code>")
        text = self._without_texts(data)
        return _WORD.sub(self._replace_name, text) if self._names else text

    def _without_texts(self, text: str) -> str:
        """Replace files and lines of code: of those that begin at a place, the longest."""
        parts, done = [], 0
        for match in _START.finditer(text):
            start = match.start()
            if start < done:
                continue
            for length in self._lengths.get(text[start : start + BEGINNING], ()):
                end = start + length
                if (found := self._called.get(text[start:end])) and not _GOES_ON.match(text, end):
                    parts += [text[done:start], found]
                    done = end
                    self.count += 1
                    break
        return "".join([*parts, text[done:]])

    def _replace_name(self, match: re.Match[str]) -> str:
        if (called := self._names.get(match[0])) is None:
            return match[0]
        self.count += 1
        return called
