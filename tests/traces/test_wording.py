"""What is no GPU is not called one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_bounds import found
from tests.traces.test_several_devices import late


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("MTIA v2", "device"),
        ("Ascend910B2", "device"),
        ("HL-225", "device"),
        ("NVIDIA H100 80GB HBM3", "GPU"),
        ("AMD Instinct MI300X", "GPU"),
        ("Intel(R) Data Center GPU Max 1550", "GPU"),
        ("", "GPU"),
    ],
)
def test_a_device_is_called_what_it_is(tmp_path: Path, name: str, word: str) -> None:
    told = found(tmp_path, late(600, 1), deviceProperties=[{"id": 0, "name": name}])
    other = {"device", "GPU"} - {word}
    said = [told["TRC001"].title, told["TRC002"].message]
    said += [advice.text for advice in told["TRC001"].advice]
    assert all(f" {word}" in text for text in said[:2])
    assert not any(f"the {one} " in text for text in said for one in other)
    assert [advice.code for advice in told["TRC002"].advice][:1] == ["model = torch.compile(model)"]
