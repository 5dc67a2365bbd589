"""The SHA-256 of an input: of a large one it is computed beside reading.

OpenSSL works on a block without Python's lock, so another thread costs the reader nothing but the
hand-over. A small input is done before a thread would have begun.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Digest"]

#: Bytes of an input from which on a thread is worth it.
LARGE = 16 << 20


class Digest:
    """Takes bytes, block after block; at most one block is on its way at a time."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._bytes = 0
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
        self._wait()
        self._pending = self._pool.submit(self._hash.update, data)

    def hexdigest(self) -> str:
        """Return the digest of all bytes so far; no thread is left."""
        self._wait()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        return self._hash.hexdigest()

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None
