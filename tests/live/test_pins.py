"""A knob stays as it was put, though the program has settings of its own."""

import json
import subprocess
from pathlib import Path

import pytest

from tracelens.experiment import Knob
from tracelens.live.injection import environment

PROGRAM = """
import torch
import torch._inductor.config as inductor
inductor.freezing = False
inductor.triton.cudagraphs = False
torch.backends.mkldnn.matmul.fp32_precision = "bf16"
import torch._dynamo
torch._dynamo.config.recompile_limit = 4
torch._dynamo.config.suppress_errors = True
torch._dynamo.config.reorderable_logging_functions.add(len)
import shelf.books
print(inductor.freezing, inductor.triton.cudagraphs)
print(torch.backends.mkldnn.matmul.fp32_precision, torch._dynamo.config.recompile_limit)
print(torch._dynamo.config.suppress_errors)
print(sorted(f.__name__ for f in torch._dynamo.config.reorderable_logging_functions))
"""
KNOB = Knob(
    "several",
    config={
        "torch._inductor.config.freezing": True,
        "torch._inductor.config.triton.cudagraphs": True,
        "torch.backends.mkldnn.matmul.fp32_precision": "ieee",
        "torch._dynamo.config.recompile_limit": 64,
        "torch._dynamo.config.reorderable_logging_functions": "builtins.print, shelf.books.lend",
    },
)


@pytest.mark.live
def test_what_is_tested_wins_over_the_program_and_the_rest_is_the_programs(
    torch_python: str, torch_environment: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    library = tmp_path / "shelf" / "books.py"
    library.parent.mkdir()
    library.write_text("def lend(): pass")
    folder = tmp_path / "told"
    folder.mkdir()
    done = subprocess.run(
        [torch_python, str(program)],
        env=environment(KNOB, folder, base=torch_environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.splitlines() == ["True True", "ieee 64", "True", "['len', 'lend', 'print']"]
    (journal,) = folder.iterdir()
    told = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [entry["kept"] for entry in told if isinstance(entry, dict) and "kept" in entry] == [
        ["torch._inductor.config.freezing", "False"],
        ["torch._inductor.config.triton.cudagraphs", "False"],
        ["torch.backends.mkldnn.matmul.fp32_precision", "'bf16'"],
        ["torch._dynamo.config.recompile_limit", "4"],
    ]
