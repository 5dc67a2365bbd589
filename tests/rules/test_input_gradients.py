"""The hook that gives embeddings a gradient for reentrant checkpointing."""

from pathlib import Path

from tests.rules.test_recompile_advice import ids
from tracelens import analyze

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "GBR010-autograd-inside-graph"


def advised(path: Path) -> list[list[str]]:
    return [ids(one) for one in analyze(str(path)).findings if one.code == "GBR010"]


def test_the_hook_of_transformers_is_taken_off(tmp_path: Path) -> None:
    log = LOGS / "fires-inputs-of-a-lora.log"
    assert advised(log) == [["without-input-gradients"]]
    other = tmp_path / "run.log"
    other.write_text(log.read_text().replace("make_inputs_require_grads", "prepare_inputs"))
    assert all("without-input-gradients" not in one for one in advised(other))
