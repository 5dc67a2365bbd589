"""Names, paths and secrets in a report, replaced by pseudonyms: equal ones stay equal.

The first home directory becomes ``~``, further ones ``~user2``; a package directory becomes
``<site-packages>``; hosts, addresses and secrets become ``<host1>``, ``<ip1>``, ``<secret1>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from tracelens.render._kinds import Kind, kind
from tracelens.render._own import without_own
from tracelens.render._people import STRONG
from tracelens.render._prose import is_ours
from tracelens.render._secrets import KINDS, is_common, stays
from tracelens.render._strings import gather, map_strings
from tracelens.report import Report

__all__ = ["Redactor", "redact", "without_names"]

#: What a name is called instead. All others are numbered: ``<host1>``.
_CALLED = {"url": "host", "key": "secret", "digest": "secret", "userinfo": "secret"}
#: Letters from which on a name is replaced where it stands alone, too.
MIN_NAME, MIN_SECRET = 3, 4


class Redactor:
    """Replaces in one string after the other; remembers who is who."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.count = 0
        self._words = sorted({word for word in words if word}, key=len, reverse=True)
        self._users: dict[str, int] = {}
        self._names: dict[tuple[str, str], str] = {}
        #: What is replaced wherever it stands: its label by its text.
        self._bare: dict[str, str] = {}
        self._everywhere: re.Pattern[str] | None = None
        self._alone: tuple[str, ...] = ()
        self._kinds: tuple[Kind, ...] = KINDS
        #: Texts that were learnt from: keys and words come again and again.
        self._learnt: set[str] = set()
        #: Text -> what it becomes, and how much of it is replaced.
        self._done: dict[str, tuple[str, int]] = {}

    def narrow(self, texts: Iterable[str]) -> None:
        """Look only for what these texts may hold: they are all that will be asked for."""
        if not self._words:  # a word's pseudonym may hold a sign that no text has
            self._kinds = tuple(_occurring(self._kinds, "\n".join(texts).lower()))

    def learn(self, text: str) -> str:
        """Remember the names that a text holds; the text stays as it is."""
        if text in self._learnt:
            return text
        self._learnt.add(text)
        lower = text.lower()
        for one in self._kinds:
            if (one.label in _LEARNT or one.written in _STRONG) and _has_any(lower, one.signs):
                for match in one.pattern.finditer(text):
                    if not stays(one.label, match["name"], match):
                        self._remember(one.label, match["name"])
        return text

    def _remember(self, label: str, name: str) -> None:
        """Keep what is to be replaced where it stands alone."""
        if label in {"home", "user", "folder"}:
            self._users.setdefault(name, len(self._users) + 1)
            return
        if label == "login":
            user, _, host = name.partition("@")
            self._users.setdefault(user, len(self._users) + 1)
            label, name = "host", host
        if label == "userinfo":
            name = name.partition(":")[2]
        name = name.rstrip("=")
        if label in {"host", "url"}:
            self._bare.setdefault(name, "host")
            short = name.partition(".")[0]
            if len(short) > MIN_NAME and _is_distinctive(short):
                self._bare.setdefault(short, "host")
        elif len(name) >= MIN_SECRET and not is_common(name) and not name.isdigit():
            self._bare.setdefault(name, "secret")

    def ready(self) -> None:
        """Make one pattern of all that was learnt."""
        names = "|".join(map(re.escape, sorted(self._users, key=len, reverse=True)))
        if names:
            login = kind("login", "@", rf"(?<![\w.~-])(?P<name>(?:{names})@[\w.-]{{1,255}})")
            self._kinds = (
                *self._kinds,
                *kind("user", "/", rf"(?<=/)(?P<name>{names})(?=/)"),
                *login,
            )
        for name in self._users:
            if len(name) >= MIN_NAME and not (is_common(name) or is_ours(name)):
                self._bare.setdefault(name, "user")
        texts = sorted(
            (text for text in self._bare if text.lower() not in {"", *_KEPT}), key=len, reverse=True
        )
        if texts:
            # An underscore ends a name as well: a folder is called torchinductor_ana.
            self._alone = tuple(texts)
            every = "|".join(map(re.escape, texts))
            self._everywhere = re.compile(rf"(?<![^\W_])(?<!<)(?:{every})(?![^\W_])(?!>)")

    def __call__(self, text: str) -> str:
        """Return the text without names."""
        if (done := self._done.get(text)) is None:
            before = self.count
            changed = self._changed(text)
            self._done[text] = changed, self.count - before
            return changed
        self.count += done[1]
        return done[0]

    def _changed(self, text: str) -> str:
        for word in self._words:
            if word in text:
                self.count += text.count(word)
                text = text.replace(word, self._pseudonym("word", word))
        lower = text.lower()
        for one in self._kinds:
            if _has_any(lower, one.signs):
                text = one.pattern.sub(partial(self._replace, one.label), text)
        if self._everywhere is not None and _has_any(text, self._alone):
            text = self._everywhere.sub(self._replace_bare, text)
        return text

    def _replace(self, label: str, match: re.Match[str]) -> str:
        found = match.groupdict(default="")
        name = found["name"]
        if stays(label, name, match):
            return match[0]
        self.count += 1
        return found.get("keep", "") + self._pseudonym(label, name)

    def _replace_bare(self, match: re.Match[str]) -> str:
        self.count += 1
        return self._pseudonym(self._bare[match[0]], match[0])

    def _pseudonym(self, label: str, name: str) -> str:
        number = self._users.get(name, 1)
        if label == "site":
            return "<site-packages>"
        if label == "home":
            return "~" if number == 1 else f"~user{number}"
        if label == "user":
            return f"user{number}"
        if label == "folder":
            return f"user{number}" if name in self._users else self._numbered("folder", name)
        if label == "login":
            user, _, host = name.partition("@")
            return f"{self._pseudonym('user', user)}@{self._pseudonym('host', host)}"
        return self._numbered(_CALLED.get(label, label), name)

    def _numbered(self, label: str, name: str) -> str:
        taken = sum(kind == label for kind, _ in self._names)
        return self._names.setdefault((label, name), f"<{label}{taken + 1}>")


#: Labels whose names are replaced wherever they stand.
_LEARNT = {"secret", "key", "digest", "host", "url", "mail", "login", "userinfo"}
#: Contexts that are certain.
_STRONG = {one.written for one in STRONG}
#: Names of ours.
_KEPT = {"host", "user", "secret", "mail", "folder", "word", "site-packages"}


def _has_any(text: str, signs: tuple[str, ...]) -> bool:
    for sign in signs:  # noqa: SIM110 -- a generator for each text and kind takes twice as long
        if sign in text:
            return True
    return False


def _occurring(kinds: Iterable[Kind], text: str) -> Iterator[Kind]:
    """Yield the kinds of which a sign is in the text, with these signs alone."""
    for one in kinds:
        if signs := tuple(sign for sign in one.signs if sign in text):
            yield one._replace(signs=signs)


def _is_distinctive(name: str) -> bool:
    """Tell whether a short host name can be nothing else, as gpu-box-7 and unlike cuda0."""
    if re.fullmatch(r"(?i)(?:cpu|gpu|cuda|xpu|rank|buf|arg|node|job|proc|dev)?[_-]?\d*", name):
        return False
    return any(map(str.isdigit, name)) or "-" in name


def redact(
    report: Report,
    words: Iterable[str] = (),
    level: bool | str | None = None,
    *,
    tables: bool = True,
) -> tuple[Report, int]:
    """Return the report without names and secrets, and how many mentions were replaced.

    Args:
        report: What to hide names in.
        words: Further texts to replace, as they stand.
        level: What else to replace: ``paths``, ``source``, ``all``.
        tables: Whether the report keeps its tables; without, names are learnt from them, too.
    """
    data = json.loads(report.to_json())
    digests = [source.pop("sha256") for source in data["inputs"]]
    tool = data.pop("tool")
    data, count = without_names(data, words, leave_out=() if tables else ("tables",))
    if isinstance(level, str):
        data, more = without_own(data, level)
        count += more
    for source, digest in zip(data["inputs"], digests, strict=True):
        source["sha256"] = digest
    return Report.model_validate(data | {"tool": tool}), count


def without_names(
    data: Any, words: Iterable[str] = (), *, leave_out: Iterable[str] = ()
) -> tuple[Any, int]:
    """Return the JSON value without names and secrets, and how many mentions were replaced.

    What is recognised once is replaced everywhere, also where it stands alone. The keys that are
    to be left out are learnt from, and are then gone.
    """
    redactor = Redactor(words)
    texts: dict[str, str] = {}  # keys and words come again and again
    gather(data, texts)
    redactor.narrow(texts)
    for text in texts:
        redactor.learn(text)
    redactor.ready()
    for key in leave_out:
        del data[key]
    return map_strings(data, redactor), redactor.count
