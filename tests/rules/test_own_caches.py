"""A size of 1 that a line of the program's own lets grow: a cache, and no batch of one."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids
from tracelens import analyze

LOG = (
    Path(__file__).parents[2] / "fixtures/rules/RCP016-zero-one-specialisation/fires-own-cache.log"
)
LINE = "keys = torch.cat([cache, new], 1)"


@pytest.mark.parametrize(
    ("line", "grows"),
    [
        (LINE, True),
        ("keys = torch.cat((cache, new), dim=1)", True),
        ("keys = torch.concat([cache, new], dim=-2)", True),
        ("a, b = torch.cat([c[0], new], 2), torch.cat([cache, new], 1)", True),
        ("keys = torch.cat([cache, new])", False),  # rows
        ("keys = torch.cat([cache, new], 0)", False),
        ("keys = torch.cat([cache, new], 2)", False),
        ("keys = torch.stack([cache, new], 1)", False),
    ],
)
def test_what_grows_along_the_dimension_is_allocated_once(
    tmp_path: Path, line: str, *, grows: bool
) -> None:
    log = tmp_path / "run.log"
    text = LOG.read_text()
    assert LINE in text
    log.write_text(text.replace(LINE, line))
    (found,) = (one for one in analyze(str(log)).findings if one.code == "RCP016")
    assert ("one-cache" in ids(found)) is grows
    assert ("pad" in ids(found)) is not grows
    if grows:
        assert found.advice[0].code == "cache.index_copy_(1, position, new)"


def test_a_cache_of_a_package_is_not_changed(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    at = "/home/ana/proj/tokens/decode.py"
    text = LOG.read_text()
    assert at in text
    packaged = text.replace(at, "/home/ana/venv/lib/python3.11/site-packages/tokens/decode.py")
    log.write_text(
        packaged.replace("ome/ana/proj/tokens/decode.py", "te-packages/tokens/decode.py")
    )
    found = [one for one in analyze(str(log)).findings if one.code == "RCP016"]
    assert found
    assert all("one-cache" not in ids(one) for one in found)
