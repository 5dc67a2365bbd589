"""Logs without names and secrets, so that they can still be read as logs.

What a report calls ``~`` and ``<site-packages>`` stays a path here: what reads a stack has to know
a library from a program.
"""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.render._redact import Redactor

__all__ = ["LogNames"]

#: Texts that are remembered at a time.
MAX_KNOWN = 50_000
#: Where a home directory is then.
HOMES = "/home"


class LogNames(Redactor):
    """Learns the names in all lines, then replaces them line by line."""

    def learn_all(self, lines: Iterable[str]) -> None:
        """Remember the names in these lines."""
        for line in lines:
            self.learn(line)
            if len(self._learnt) > MAX_KNOWN:
                self._learnt.clear()

    def line(self, text: str) -> str:
        """Return a line without names."""
        if len(self._done) > MAX_KNOWN:
            self._done.clear()
        return self(text)

    def _pseudonym(self, label: str, name: str) -> str:
        if label == "site":
            return "/env/site-packages"
        if label == "home":
            return f"{HOMES}/user{self._users.get(name, 1)}"
        return super()._pseudonym(label, name)
