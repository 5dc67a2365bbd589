"""Sizes of 0 or 1 of a library's key/value cache: nobody pads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.token_caches import is_of_token_cache
from tracelens.report import Finding

LIBRARY = "/home/ana/venv/lib/python3.11/site-packages/transformers/models"
PREFIX = "V1123 12:00:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] "


OWN = "/home/ana/proj"


def told(tmp_path: Path, *sources: str, of: str = LIBRARY) -> Finding:
    log = tmp_path / "run.log"
    lines = []
    for n, source in enumerate(sources, 1):
        reason = f"tensor '{source}' size mismatch at index 2. expected 1, actual 2"
        parts = [
            f"Recompiling function forward in {of}/bart/modeling_bart.py:623",
            "    triggered by the following guard failure(s):",
            f"    - 0/{n - 1}: {reason}",
        ]
        lines += [f"{PREFIX.format(n=n)}{part}\n" for part in parts]
    log.write_text("".join(lines))
    (finding,) = [one for one in analyze(str(log)).findings if one.code == "RCP016"]
    return finding


CACHES = [
    "kwargs['past_key_values'].self_attention_cache.layers[0].keys",
    "past_key_values.key_cache[0]",
    "past_key_values[0][1]",
    "cache.layers[3].values",
]


@pytest.mark.parametrize("source", CACHES)
def test_the_length_of_a_cache_is_not_padded(source: str, tmp_path: Path) -> None:
    finding = told(tmp_path, source, source)
    assert [one.id for one in finding.advice] == ["cache-grows"]
    assert "grows with each token" in finding.message


@pytest.mark.parametrize("source", ["x", "kwargs['keys']", "batch.values", "self.layers[0].weight"])
def test_other_sizes_are(source: str, tmp_path: Path) -> None:
    advice = [one.id for one in told(tmp_path, source, source, of=OWN).advice]
    assert advice[0] == "pad"
    assert "cache-grows" not in advice


def test_a_batch_beside_a_cache_is_padded(tmp_path: Path) -> None:
    sources = CACHES[0], "kwargs['input_ids']"
    assert "pad" in {one.id for one in told(tmp_path, *sources, of=OWN).advice}
    assert "pad" not in {one.id for one in told(tmp_path, *sources).advice}


def test_names_of_other_things_are_no_caches() -> None:
    assert not is_of_token_cache("my_past_key_valuesX")
    assert not is_of_token_cache("monkey_cache")
