"""A number that a line branches on cannot become a tensor: the graph would break there."""

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import HEAD, ids, recompiled, told
from tracelens import analyze

RATE = "(1.0 + ((-1)*self.drop.rate)) == 0.9{}  # {}  # proj/net.py:9 in forward"
GUARDS = "".join(
    HEAD.format(1, 1).replace("recompiles", "guards") + line + "\n"
    for line in (
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        "| +- LAMBDA_GUARD: {}  # {}  # proj/net.py:7 in forward (_dynamo/x.py:1 in f)",
    )
)


def drawn(line: str, guards: str = "") -> str:
    rates = (RATE.format(n, line) for n in (8, 6, 4))
    return guards + recompiled("forward", *(one if line else one.split("  #")[0] for one in rates))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mask = x.bernoulli_(keep)", "keep-tensor"),
        ("q.mul_(m).add_(p, alpha=1 - m)", "multiply"),
        ("return dropout(x, 1 - keep)", "multiply"),
        ("scale = math.sqrt(keep)", "multiply"),
        ("", "multiply"),
    ],
)
def test_an_operation_that_takes_a_number_gets_no_tensor(
    line: str, expected: str, tmp_path: Path
) -> None:
    found = told("RCP023", drawn(line), tmp_path)
    assert ids(found) == [expected]
    assert "every value of `self.drop.rate`" in found.title


@pytest.mark.parametrize(
    ("guard", "line", "says"),
    [
        ("L['self'].drop.rate != 0.0", "if self.rate == 0.0:", "`if self.rate == 0.0:` branches"),
        ("L['self'].drop.rate != 0.0", "keep = 1 - self.rate", ""),
        ("L['self'].drop.rates != 0.0", "if self.rates == 0.0:", ""),
        ("L['self'].drop.rate2 != 0.0", "if self.rate2 == 0.0:", ""),
        (
            "L['self'].drop.rates > L['self'].drop.rate",
            "if self.rates > self.rate:",
            "`if self.rates > self.rate:` branches",
        ),
        (None, "", "Where Python branches on it"),
    ],
)
def test_a_branch_on_it_elsewhere_is_named(
    guard: str | None, line: str, says: str, tmp_path: Path
) -> None:
    guards = GUARDS.format(guard, line) if guard else ""
    (one,) = told("RCP023", drawn("mask = x.bernoulli_(keep)", guards), tmp_path).advice
    assert says in one.text
    assert ("branch" in one.text) == bool(says)


@pytest.mark.parametrize(
    ("code", "value", "advice"), [("RCP005", "{}.5", "pass-tensor"), ("RCP007", "{}", "buffer")]
)
@pytest.mark.parametrize("line", ["if {} > 9:", "y = x * {}", "y = x if {} > 9 else 0"])
def test_a_number_that_a_line_branches_on_is_not_made_a_tensor(
    code: str, value: str, advice: str, line: str, tmp_path: Path
) -> None:
    name = "scale" if code == "RCP005" else "self.layer"
    full = "L['scale']" if code == "RCP005" else "L['self'].layer"
    reasons = [f"{name} == {value.format(n)}" for n in (2, 3, 4)]
    guards = GUARDS.replace("LAMBDA_GUARD", "EQUALS_MATCH")
    guards = guards.format(f"{full} == {value.format(2)}", line.format(name))
    found = told(code, guards + recompiled("forward", *reasons), tmp_path)
    assert (advice in ids(found)) == (" if " not in line and not line.startswith("if "))


@pytest.mark.parametrize(
    ("line", "sliced"),
    [
        ("self.k[:, :, self.layer : self.layer + t] = k", True),
        ("k = self.k[:, : self.layer]", True),
        ("k = self.k[self.layer :]", True),
        ("y = x[:, 1:] * self.layer", False),
        ("y = x[:2] + x[2 * self.scale :] - self.layer", False),
        ('y = {"layer": self.layer, "x": x[:2]}["x"]', False),
    ],
)
def test_a_number_that_a_slice_begins_at_is_not_made_a_tensor(
    line: str, sliced: bool, tmp_path: Path
) -> None:
    reasons = [f"self.layer == {n}" for n in (2, 3, 4)]
    guards = GUARDS.format("L['self'].layer == 2", line)
    found = ids(told("RCP007", guards + recompiled("forward", *reasons), tmp_path))
    assert ("buffer" in found, "unspec-int" in found) == (not sliced, True)


SIZE = "tensor 'x' size mismatch at index 0. expected {}, actual {}"
FLOAT = "clip == 1.0"


def entries(*calls: tuple[str, ...]) -> str:
    """Return a log of recompiles: what failed in the newest entry, and in those before it."""
    log = ""
    for n, failed in enumerate(calls, 1):
        first, *lines = recompiled("f", *[""] * n).splitlines()[-3:]
        log += f"{first}\n{lines[0]}\n"
        log += "".join(
            f"{HEAD.format(n, n)}    - 0/{n - 1 - at}: {t}\n" for at, t in enumerate(failed)
        )
    return log


def counts(text: str, folder: Path) -> dict[str, int]:
    path = folder / "run.log"
    path.write_text(text)
    return {one.code: one.count for one in analyze(str(path)).findings if one.code[:3] == "RCP"}


def test_a_size_that_comes_back_is_not_what_the_new_entry_is_for(tmp_path: Path) -> None:
    """Batches of 64 and a last one of 8 are both constants; then a factor changes."""
    calls = [
        (SIZE.format(64, 8),),
        (SIZE.format(8, 64), FLOAT),
        (SIZE.format(64, 8), FLOAT, SIZE.format(64, 8)),
    ]
    assert counts(entries(*calls), tmp_path) == {"RCP003": 2, "RCP005": 1}


def test_a_size_that_is_new_is_what_the_new_entry_is_for(tmp_path: Path) -> None:
    calls = [(SIZE.format(64, 8),), (SIZE.format(8, 32), FLOAT), (SIZE.format(32, 48), FLOAT)]
    assert counts(entries(*calls), tmp_path) == {"RCP002": 3}
