"""Generated code out of a log is cut out, and run only on request."""

from pathlib import Path

from tests.live.reports import finding
from tracelens.live.logcode import modules, program
from tracelens.report import EvidenceLine

PREFIX = "V1120 10:33:50.028000 24189 torch/_inductor/graph.py:2000] [0/0] [__output_code] "
LOG = [
    "a line of the program",
    f"{PREFIX}Output code: ",
    f"{PREFIX}import torch",
    f"{PREFIX}def call(args):",
    f"{PREFIX}    return args",
    "another",
    f"{PREFIX}Output code: ",
    f"{PREFIX}def call(args):",
    f"{PREFIX}    return ()",
]


def test_modules_are_cut_out_of_a_log() -> None:
    first, second = modules(LOG)
    assert first == (2, 5, "import torch\ndef call(args):\n    return args")
    assert (second.first, second.last) == (7, 9)


def test_the_module_that_is_quoted_is_the_program(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("\n".join(LOG) + "\n")
    quote = EvidenceLine(input="elsewhere.log", line=9, text="")
    found = program(finding(evidence=(quote,)), log)
    assert found is not None
    assert found.source.startswith("def call(args):\n    return ()\n")
    assert "def setup():" in found.source
    assert program(finding(), log) is None
