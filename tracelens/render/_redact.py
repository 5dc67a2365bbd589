"""Names, paths and secrets in a report, replaced by pseudonyms: equal ones stay equal.

The first home directory becomes ``~``, further ones ``~user2``; a package directory becomes
``<site-packages>``; hosts, addresses and secrets become ``<host1>``, ``<ip1>``, ``<secret1>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from tracelens.render._strings import map_strings
from tracelens.report import Report

__all__ = ["redact", "without_names"]

_NAME = r"(?P<name>[^\s/\\:;,'\"()\[\]{}<>|=@]{1,64})"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
#: Names that are no person's: shared directories, and accounts that every machine has.
_NOBODY = {"shared", "public", "all users", "default", "linuxbrew", "root"}


class _Kind(NamedTuple):
    """What to look for: of a match, ``keep`` stays and ``name`` gets a pseudonym.

    A text without any of the ``signs`` (all lower case) holds no match and is not searched.
    """

    label: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def _kind(label: str, signs: str, *patterns: str) -> Iterator[_Kind]:
    for pattern in patterns:
        yield _Kind(label, tuple(signs.split()), re.compile(pattern))


_USERS = (
    *_kind(
        "home",
        "/home/ /users/",
        r"(?<![\w.~-])(?:/(?:var/|export/)?home/|(?:/System/Volumes/Data)?/Users/)" + _NAME,
    ),
    *_kind(
        "home",
        r"users\ users/",
        r"(?<!\w)[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2}(?P<name>[^\\/:*?\"'<>|\r\n]{1,64})(?=[\\/])",
    ),
    *_kind("user", "/torchinductor_", r"(?P<keep>/torchinductor_)" + _NAME),
    *_kind("user", "user= logname= username=", r"(?P<keep>\b(?:USER|LOGNAME|USERNAME)=)" + _NAME),
)

_REST = (
    *_kind(
        "secret",
        "hf_ gh github_pat_ glpat- xox sk- akia asia eyj",
        r"(?<!\w)(?P<name>hf_[A-Za-z0-9]{16,200}|gh[opsur]_[A-Za-z0-9]{20,200}"
        r"|github_pat_[A-Za-z0-9_]{20,200}|glpat-[\w-]{16,200}|xox[abprs]-[\w-]{10,200}"
        r"|sk-[A-Za-z0-9_-]{20,200}|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|eyJ[\w-]{10,2000}\.[\w-]{10,2000}\.[\w-]{10,2000})",
    ),
    # A number after ``token=`` is a count of tokens.
    *_kind(
        "secret",
        "token secret passw key=  key: key' key\"",
        r"(?P<keep>(?<![A-Z0-9_])[A-Z0-9_]{0,60}"
        r"(?:TOKEN|SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|PRIVATE_KEY)(?:_ID)?"
        r"['\"]?[=:] ?['\"]?)(?P<name>(?![\d.]{1,12}(?![\w-]))[^\s'\",;&<>]{4,2000})",
        r"(?P<keep>(?<![a-z0-9_])(?:password|passwd|api_key|secret_key|secret_access_key"
        r"|access_token|auth_token)['\"]?[=:] ?['\"]?)"
        r"(?P<name>(?![\d.]{1,12}(?![\w-]))[^\s'\",;&<>]{4,2000})",
    ),
    *_kind("secret", "bearer ", r"(?P<keep>\b[Bb]earer )(?P<name>[\w.~+/=-]{8,2000})"),
    *_kind(
        "secret",
        "://",
        r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://)(?P<name>[^\s/:@'\"]{1,200}:[^\s/@'\"]{1,200})(?=@)",
    ),
    *_kind(
        "host",
        "host master_addr node",
        r"(?P<keep>\b(?:HOSTNAME|HOST|MASTER_ADDR|SLURMD_NODENAME|hostname|nodename)[=:] ?)"
        r"(?P<name>(?!localhost|\d{1,3}\.)[\w.-]{1,255})",
    ),
    # ``threading.local`` is no host: the name needs a digit or a hyphen.
    *_kind(
        "host",
        "ip- .local .lan .internal .corp .intra .amazonaws",
        r"(?<![\w.-])(?P<name>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,6}"
        r"|(?=[A-Za-z]{0,63}[\d-])[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,5}"
        r"\.(?:local|lan|internal|corp|intra|localdomain|amazonaws\.com)(?![\w.-]*\w))",
    ),
    # ``x@self.net`` is a matrix product.
    *_kind(
        "mail",
        "@",
        r"(?<![\w.+-])(?P<name>[\w.+-]{1,64}@(?!self\.|cls\.)[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}"
        r"\.(?:com|org|net|edu|gov|io))\b",
    ),
    # Four numbers behind ``==`` or ``version`` are a version.
    *_kind(
        "ip",
        ".",
        r"(?<![\w.])(?<![=<>~]=)(?<![vV]ersion )(?!127\.|0\.0\.0\.0|255\.)"
        rf"(?P<name>{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE})(?![\w.]*\w)",
    ),
    *_kind(
        "ip",
        ":",
        r"(?<![\w:])(?P<name>(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
        r"|fe80::[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,3})(?![\w:])",
    ),
)

_SITE = _kind(
    "site",
    "-packages",
    r"(?P<name>(?<![\w.~-])(?:/|~/|[A-Za-z]:[\\/])[^\s'\"<>|:;,()]{0,250}?"
    r"[\\/](?:site|dist)-packages)(?![\w-])",
)


class _Redactor:
    """Replaces in one string after the other; remembers who is who."""

    def __init__(self, users: dict[str, int]) -> None:
        self.count = 0
        self._users = users
        self._names: dict[tuple[str, str], str] = {}
        self._kinds = (*_KINDS, *self._mentions())

    def _mentions(self) -> Iterator[_Kind]:
        """Look for a name that was learnt also in /scratch/NAME/... and in NAME@host."""
        names = "|".join(map(re.escape, sorted(self._users, key=len, reverse=True)))
        if names:
            yield from _kind("user", "/", rf"(?<=/)(?P<name>{names})(?=/)")
            yield from _kind("login", "@", rf"(?<![\w.~-])(?P<name>(?:{names})@[\w.-]{{1,255}})")

    def __call__(self, text: str) -> str:
        lower = text.lower()
        for kind in self._kinds:
            if any(sign in lower for sign in kind.signs):
                text = kind.pattern.sub(partial(self._replace, kind.label), text)
        return text

    def _replace(self, label: str, match: re.Match[str]) -> str:
        found = match.groupdict(default="")
        name = found["name"]
        if name.startswith("<") or (label in {"home", "user"} and name.lower() in _NOBODY):
            return match[0]
        self.count += 1
        return found.get("keep", "") + self._pseudonym(label, name)

    def _pseudonym(self, label: str, name: str) -> str:
        number = self._users.get(name, 1)
        if label == "site":
            return "<site-packages>"
        if label == "home":
            return "~" if number == 1 else f"~user{number}"
        if label == "user":
            return f"user{number}"
        if label == "login":
            user, _, host = name.partition("@")
            return f"{self._pseudonym('user', user)}@{self._pseudonym('host', host)}"
        taken = sum(kind == label for kind, _ in self._names)
        return self._names.setdefault((label, name), f"<{label}{taken + 1}>")


_KINDS = (*_SITE, *_USERS, *_REST)


def redact(report: Report) -> tuple[Report, int]:
    """Return the report without names and secrets, and how many mentions were replaced."""
    data, count = without_names(json.loads(report.to_json()))
    return Report.model_validate(data), count


def without_names(data: Any) -> tuple[Any, int]:
    """Return the JSON value without names and secrets, and how many mentions were replaced."""
    users: dict[str, int] = {}

    def learn(text: str) -> str:
        for kind in _USERS:
            for match in kind.pattern.finditer(text):
                if match["name"].lower() not in _NOBODY:
                    users.setdefault(match["name"], len(users) + 1)
        return text

    map_strings(data, learn)
    redactor = _Redactor(users)
    return map_strings(data, redactor), redactor.count
