"""Inputs of every sort that the engines are to read alike."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
RANKS = FIXTURES / "rules" / "DST001-rank-divergent-compilation" / "fires-one-rank.log"
KERNELS = FIXTURES / "rules" / "ONE001-reference-kernel-dispatch"


def ranks(folder: Path) -> list[Path]:
    """Write the log of each rank of a job."""
    folder.mkdir(parents=True)
    lines = RANKS.read_bytes().splitlines(keepends=True)
    out = []
    for rank in range(2):
        path = folder / f"rank{rank}.log"
        own = [line for line in lines if line.startswith(b"[rank%d]:" % rank)]
        assert own
        path.write_bytes(b"".join(own))
        out.append(path)
    return out


def job(folder: Path) -> Path:
    """Write the ranks of a job, the log of another program, and what is no log of ours."""
    ranks(folder / "ranks")
    log = min(KERNELS.glob("fires-*.log"))
    (folder / "program.log").write_bytes(log.read_bytes())
    (folder / "notes.txt").write_text("epoch 1\nepoch 2\n")
    return folder
