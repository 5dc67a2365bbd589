"""What tells texts apart that were read, without keeping the long ones."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

__all__ = ["Digest", "Key", "Written", "key_of", "lines_of", "size_of"]

#: Characters from which on a digest is smaller than the text, and cheap beside reading it.
LONG = 400
#: Of the digest of a text; most processors have instructions for SHA-256.
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


class Written:
    """A structured record as it was written: its text is made when somebody reads it.

    Args:
        head: The JSON of its envelope, with its newline.
        payload: Its other lines, each behind a tab.
        lines: How many lines all of it has.
    """

    __slots__ = ("_head", "_payload", "key", "said")

    def __init__(self, head: bytes, payload: bytes, lines: int) -> None:
        self._head = head
        self._payload = payload
        #: What tells the payload from every other one.
        self.said = sha256(payload).digest()[:_BYTES]
        digest = sha256(head + self.said).digest()[:_BYTES]
        #: What tells all of it from every other one.
        self.key = Digest(digest, len(head) + len(payload) - lines, lines)

    @property
    def head(self) -> str:
        """The envelope, without its newline."""
        return self._head[:-1].decode("utf-8", "replace")

    @property
    def text(self) -> str:
        """All of it, without the tabs."""
        payload = self._payload[1:].replace(b"\n\t", b"\n")
        return (self._head + payload)[:-1].decode("utf-8", "replace")


def key_of(text: str | Written) -> Key:
    """Return what tells ``text`` from every other one."""
    if isinstance(text, Written):
        return text.key
    if len(text) < LONG:
        return text
    last, key = _LAST[0]  # at once: threads share it
    if last is text:
        return key
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES]
    key = Digest(digest, len(text), text.count("\n") + 1)
    _LAST[0] = text, key
    return key


def size_of(key: Key) -> int:
    """Return the number of characters of the text."""
    return len(key) if isinstance(key, str) else key.characters


def lines_of(key: Key) -> int:
    """Return the number of lines of the text."""
    return key.count("\n") + 1 if isinstance(key, str) else key.lines
