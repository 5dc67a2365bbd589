"""Tell which of many literals a large text holds, for much less than a search for each.

A text without one of a literal's characters does not hold it, and most texts of programs lack many.
They differ in their numbers more than in their words: where the characters do not tell, the digits
are taken out, and of what is left only what was not met before is looked at: lines where they
repeat, else words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["Literals"]

_DIGITS = b"0123456789"
#: Lines and words that are remembered; beyond it the memory is emptied and starts again.
MAX_LINES, MAX_WORDS = 40_000, 40_000
#: Bytes per line up to which lines are remembered.
MAX_LENGTH = 400
#: Texts whose lines are not remembered, since those of the last one were too unlike others; texts
#: that are told by the letters that one of them lacked.
PAUSE = 16
#: Literals up to which each is searched for by itself.
FEW = 8


class Literals:
    """Some literals, and what is known to hold none of them.

    Args:
        literals: Without newlines, tabs and digits.
    """

    def __init__(self, literals: Iterable[bytes]) -> None:
        self._letters, self._spelt, self._words = _spelling(tuple(literals))
        self._lines: set[bytes] = set()
        self._quiet: set[bytes] = set()
        self._telling: dict[bytes, list[bytes]] = {}
        self._pause = 0
        #: Letters that a text lacked, and the few literals that texts without them may hold.
        self._lacking: list[bytes] = []
        self._left: list[bytes] = []
        #: Texts that are yet to be told by them.
        self._owed = 0

    def among(self, text: bytes) -> list[bytes]:
        """Return the literals that are in ``text``."""
        self._owed -= 1
        if self._owed < 0 or any(letter in text for letter in self._lacking):
            self._learn(text)
        if len(self._left) <= FEW:
            return [one for one in self._left if one in text]
        bare = text.translate(None, _DIGITS)
        if self._pause or len(text) > MAX_LENGTH * text.count(b"\n"):
            self._pause -= self._pause > 0
            return [one for one in self._suspects(bare.split()) if one in text]
        lines = set(bare.split(b"\n"))
        new = lines - self._lines
        if len(new) * 2 > len(lines):
            self._pause = PAUSE
        found = [one for one in self._suspects(b"\n".join(new).split()) if one in text]
        if len(self._lines) + len(new) > MAX_LINES:
            self._lines.clear()
        if not found:
            self._lines |= new
        return found

    def _learn(self, text: bytes) -> None:
        """Note which literals ``text`` may hold, and the fewest letters that say so of the next."""
        absent = {letter for letter in self._letters if letter not in text}
        self._left = [one for one, letters in self._spelt if absent.isdisjoint(letters)]
        self._owed = PAUSE if len(self._left) <= FEW else 0
        self._lacking = []
        rest = [held for _, letters in self._spelt if (held := absent & letters)]
        while rest and self._owed:
            best, _ = Counter(letter for held in rest for letter in held).most_common(1)[0]
            self._lacking.append(best)
            rest = [held for held in rest if best not in held]

    def _suspects(self, words: list[bytes]) -> set[bytes]:
        """Return the literals of which a word may be among ``words``."""
        distinct = set(words)
        known = self._telling
        suspects = {one for word in known.keys() & distinct for one in known[word]}
        distinct -= self._quiet
        distinct -= known.keys()
        if len(self._quiet) + len(distinct) > MAX_WORDS:
            self._quiet.clear()
        together = b"\n".join(distinct)
        held = [word for word in self._words if word in together]
        for word in list(distinct) if held else ():
            if told := [one for part in held if part in word for one in self._words[part]]:
                if len(known) < MAX_WORDS:
                    known[word] = told
                suspects.update(told)
                distinct.discard(word)
        self._quiet |= distinct
        return suspects


#: The letters of some literals, each literal with its own, and the literals by their longest word.
_Spelling = tuple[list[bytes], list[tuple[bytes, set[bytes]]], dict[bytes, list[bytes]]]


@lru_cache(maxsize=8)
def _spelling(literals: tuple[bytes, ...]) -> _Spelling:
    """Return what is to be known of ``literals``, which are the same for every input."""
    letters = [bytes([code]) for code in sorted(set(b"".join(literals)))]
    spelt = [(one, {bytes([code]) for code in one}) for one in literals]
    words: dict[bytes, list[bytes]] = {}
    for literal in literals:  # a text without its longest word does not hold it
        words.setdefault(max(literal.split(), key=len), []).append(literal)
    return letters, spelt, words
