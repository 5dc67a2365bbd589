"""What breaks in a package that Dynamo enters behind a call that no graph holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

LOG = (
    Path(__file__).parents[2] / "fixtures/rules/GBR009-untraceable-function/fires-object-called.log"
)


@pytest.mark.parametrize(
    ("was", "comes", "told"),
    [
        ("", "", {"GBR009"}),
        # the package's own lines, which leaving the call out need not spare
        ("/site-packages/numba/", "/site-packages/tslearn/numba/", {"GBR006", "GBR009"}),
        # a method of the object, which is traced or not for what it is
        ("(CPUDispatcher) __call__ [", "(CPUDispatcher) compile [", {"GBR006", "GBR011"}),
    ],
)
def test_one_call_is_told(was: str, comes: str, told: set[str], tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOG.read_text().replace(was, comes) if was else LOG.read_text())
    own = [one for one in analyze(log).findings if one.explained_by is None]
    assert {one.code for one in own} == told
    if not was:
        assert own[0].title.startswith("Dynamo cannot trace `_njit_compute_mask`")
