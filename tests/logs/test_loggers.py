"""Lines of torch behind the format of a program's own logger, on each line or on the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import TracelensError, analyze

#: Messages as torch writes them, and the code that each leads to.
MESSAGES = {
    "RCP001": (
        "torch._dynamo hit config.recompile_limit (8)\n"
        "   function: 'forward' (/home/ana/proj/model.py:94)\n"
        "   last reason: 0/7: tensor 'x' size mismatch at index 0. expected 8, actual 9\n"
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".'
    ),
    "RCP017": (
        "Recompiling function fn in /home/ana/proj/model.py:8\n"
        "    triggered by the following guard failure(s):\n"
        "    - 0/0: len(x) == 2"
    ),
    "TUN002": (
        "AUTOTUNE mm(4900x1280, 1280x1280)\n  mm 0.1788 ms 100.0%\n  triton_mm_72 0.1926 ms 92.8% "
    ),
    "CGR001": (
        "skipping cudagraphs due to cpu device (arg0_1). Found from : \n"
        '   File "/home/ana/proj/model.py", line 4, in f\n    return x + y'
    ),
    "CMP006": "Dynamo bytecode transform time: 46.71 s",
}
LOGGERS = {
    "loguru": "2025-01-18 22:59:32.082 | WARNING  | app.train:step:906 - {}",
    "structlog": "2025-01-18 22:59:32 [warning  ] {}",
    "structlog with a zone": "2025-01-18T22:59:32.082113Z [info     ] {}",
    "a platform's": "2025-01-18 22:59:32.082 | info | kelcmu34r52tw4 | {}",
    "with a thread": "2025-01-18 22:59:32 | backends | 139623526012736 | INFO : {}",
    "rich": "[22:59:32] WARNING  {}",
    "brackets": "[2025-01-18 22:59:32,082] [WARNING] [engine.py:906:_compile] {}",
    "transformers": "[WARNING|trainer.py:906] 2025-01-18 22:59:32,082 >> {}",
    "Hydra": "[2025-01-18 22:59:32,082][app.train][WARNING] - {}",
    "dashes": "2025-01-18 22:59:32,082 - app.train - WARNING - {}",
}


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("name", LOGGERS)
def test_messages_behind_a_logger_say_what_they_say_bare(
    name: str, every: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    said = []
    for text in MESSAGES.values():
        lines = text.split("\n")
        dressed = [
            LOGGERS[name].format(one) if every or not i else one for i, one in enumerate(lines)
        ]
        path.write_text("\n".join(dressed) + "\n", encoding="utf-8")
        report = analyze(str(path))
        said.append((report.told or report.findings)[0].code)
    assert said == list(MESSAGES)


@pytest.mark.parametrize("name", LOGGERS)
def test_what_a_program_logs_itself_stays_its_own(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    words = ("epoch 1 of 3", "autotune is off", "recompiling the schema", "skipping 3 files")
    path.write_text("".join(LOGGERS[name].format(one) + "\n" for one in words), encoding="utf-8")
    with pytest.raises(TracelensError):
        analyze(str(path))
