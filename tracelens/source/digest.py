"""The SHA-256 of an input: of a large one it is computed beside reading.

OpenSSL works on a block without Python's lock, so another thread costs the reader nothing but the
hand-over: blocks are handed over some at a time. A small input is done before a thread would have
begun.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Digest"]

#: Bytes of an input from which on a thread is worth it.
LARGE = 16 << 20
#: Bytes that are handed over at once.
LOT = 1 << 20


class Digest:
    """Takes bytes, block after block; at most one lot of them is on its way at a time."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._bytes = 0
        #: Blocks that are not yet handed over, and their bytes.
        self._held: list[bytes] = []
        self._size = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None

    def update(self, data: bytes) -> None:
        """Take the next bytes, which nobody may change afterwards."""
        self._bytes += len(data)
        if self._bytes < LARGE:
            self._hash.update(data)
            return
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 -- for large inputs

            self._pool = ThreadPoolExecutor(1, "sha256")
        self._held.append(data)
        self._size += len(data)
        if self._size >= LOT:
            self._wait()
            self._pending = self._pool.submit(_take, self._hash.update, self._held)
            self._held, self._size = [], 0

    def hexdigest(self) -> str:
        """Return the digest of all bytes so far; no thread is left."""
        self._wait()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        _take(self._hash.update, self._held)
        self._held, self._size = [], 0
        return self._hash.hexdigest()

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None


def _take(update: Callable[[bytes], object], blocks: list[bytes]) -> None:
    for data in blocks:
        update(data)
