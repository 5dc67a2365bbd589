"""What tells texts apart that were read, without keeping the long ones."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

__all__ = ["Digest", "Key", "key_of", "lines_of", "size_of"]

#: Characters from which on a digest is smaller than the text, and cheap beside reading it.
LONG = 400
_BYTES = 20


class Digest(NamedTuple):
    """What stands for a long text."""

    digest: bytes
    characters: int
    lines: int


#: A short text, or what stands for a long one; two texts have one key only if they are the same.
Key = str | Digest

#: The long text that was asked for last, and its key: whoever asks often asks twice.
_LAST: list[tuple[str, Key]] = [("", "")]


def key_of(text: str) -> Key:
    """Return what tells ``text`` from every other one."""
    if len(text) < LONG:
        return text
    last, key = _LAST[0]  # at once: threads share it
    if last is text:
        return key
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
    key = Digest(digest, len(text), text.count("\n") + 1)
    _LAST[0] = text, key
    return key


def size_of(key: Key) -> int:
    """Return the number of characters of the text."""
    return len(key) if isinstance(key, str) else key.characters


def lines_of(key: Key) -> int:
    """Return the number of lines of the text."""
    return key.count("\n") + 1 if isinstance(key, str) else key.lines
