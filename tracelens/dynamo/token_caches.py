"""Keys and values that a library keeps from token to token."""

from __future__ import annotations

import re

__all__ = ["is_of_token_cache"]

#: As transformers calls them, from release to release: ``past_key_values[0][1]``,
#: ``cache.key_cache[3]``, ``cache.layers[3].keys``.
_CACHE = re.compile(
    r"past_key_values?\b|\b(?:key|value)_cache\[\d{1,6}\]|\.layers\[\d{1,6}\]\.(?:keys|values)\b"
)


def is_of_token_cache(source: str) -> bool:
    """Whether a tensor is part of a key/value cache: its length is the number of tokens so far."""
    return _CACHE.search(source) is not None
