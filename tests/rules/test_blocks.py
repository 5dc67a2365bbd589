"""Compiling a repeated block is advised where the guards show that a block repeats."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.blocks import Blocks, repeated
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.report import Finding
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
METRICS = FIXTURES / "CMP001-compile-time-dominates" / "fires-structured.log.gz"
PREFIX = "V1120 12:00:00.000000 7 torch/_dynamo/guards.py:4483] [0/0] [__guards] "


def tree(*modules: str) -> str:
    """Return the guards of a compiled model with these modules."""
    managers = [
        f"| +- GuardManager: source={module}, accessed_by=DictGetItemGuardAccessor('x'), "
        "type=<class 'dict'>, tag_safe=(False, False)"
        for module in modules
    ]
    lines = ["", "TREE_GUARD_MANAGER:", "+- RootGuardManager", *managers]
    return "".join(f"{PREFIX}{line}\n" for line in lines)


def at(*names: str) -> str:
    return "L['self']" + "".join(f"._modules['{name}']" for name in names)


def found(log: Path) -> Blocks:
    evidence, _ = read([str(log)])
    assert len(evidence.table(GuardTree)) == 1
    return repeated(evidence.table(GuardTree))


@pytest.mark.parametrize(
    ("modules", "blocks"),
    [
        ([at("net", "layers", str(n), "ff") for n in range(4)], Blocks(4, ".net.layers")),
        (
            [at("stages", "1", "blocks", str(n), "ff") for n in range(3)],
            Blocks(3, ".stages[1].blocks"),
        ),
        ([at(str(n), "ff") for n in range(3)], Blocks(3, "")),
        # Plain layers, and containers, which are not called.
        ([at("net", str(n)) for n in range(4)], Blocks()),
        ([at("net", str(n), "0") for n in range(4)], Blocks()),
        # Wrappers of other layers, of which one has no parameters: two of three are alike.
        (
            [
                at("net", str(n), "module") + parameter
                for n in range(3)
                for parameter in ["", *(["._parameters['weight']"] if n != 1 else [])]
            ],
            Blocks(2, ".net"),
        ),
        (
            [
                at("net", str(n), "module") + parameter
                for n in range(3)
                for parameter in ("", "._parameters['weight']")
            ],
            Blocks(3, ".net"),
        ),
        # Nodes of expressions: one list of operands each, and other operands in it.
        (
            [
                name
                for n in range(3)
                for name in (at("nodes", str(n), "args"), at("nodes", str(n), "args", str(n), "v"))
            ],
            Blocks(),
        ),
        # What a compiled function calls has a name of the program's.
        (
            [f"G['net']._modules['layers']._modules['{n}']._modules['ff']" for n in range(3)],
            Blocks(3, ".layers", "net"),
        ),
        # Other parts in each: they are not alike.
        ([at("net", str(n), f"part{n}") for n in range(3)], Blocks()),
        # Three of a model that holds more: what is not in them would stay eager.
        (
            [at("net", "layers", str(n), "ff") for n in range(3)]
            + [at("net", f"stage{n}", "conv") for n in range(4)],
            Blocks(),
        ),
        (
            [at("net", "layers", str(n), "ff") for n in range(3)]
            + [at("net", f"stage{n}", "conv") for n in range(3)],
            Blocks(3, ".net.layers"),
        ),
    ],
)
def test_what_repeats(modules: list[str], blocks: Blocks, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(tree(*modules))
    assert found(log) == blocks


def told(tmp_path: Path, guards: str) -> Finding:
    log = tmp_path / "run.log"
    log.write_text(gzip.decompress(METRICS.read_bytes()).decode() + guards)
    (finding,) = [one for one in analyze(str(log)).findings if one.code == "CMP001"]
    return finding


def test_three_blocks_are_worth_compiling_by_themselves(tmp_path: Path) -> None:
    blocks = [at("encoder", "layers", str(n), "ff") for n in range(3)]
    advice = {one.id: one for one in told(tmp_path, tree(*blocks)).advice}
    code = advice["repeated-blocks"].code
    assert code is not None
    assert code.startswith("for number, block in enumerate(model.encoder.layers):\n")
    # A deep copy of a module with a compiled `forward` would run with the first one's weights.
    assert "\n    model.encoder.layers[number] = torch.compile(block)" in code
    for guards in (tree(*blocks[:2]), ""):
        assert "repeated-blocks" not in {one.id for one in told(tmp_path, guards).advice}


CONSTANT = (
    "| | +- ID_MATCH: ___check_obj_id({}._parameters['weight'], 139834064278272), "
    "type=<class 'torch.nn.parameter.Parameter'>"
)
FROZEN = """\
Output code:
_frozen_param0 = None  # device(type='cpu') torch.float32 (8, 8) (8, 1) 7f2d3c0b9d50
def call(args):
    return ()
"""


def test_blocks_whose_weights_are_constants_share_no_code(tmp_path: Path) -> None:
    blocks = [at("encoder", "layers", str(n), "ff") for n in range(3)]
    guards = tree(*blocks)
    held = "".join(f"{PREFIX}{CONSTANT.format(one)}\n" for one in blocks)
    other = held.replace("._parameters['weight']", ".act")  # a function that is no weight
    code = PREFIX.replace("__guards", "__output_code")
    frozen = "".join(f"{code}{line}\n" for line in FROZEN.splitlines())
    for text, is_advised in (
        (guards, True),
        (guards + other, True),
        (guards + held, False),
        (guards + frozen, False),
    ):
        advice = {one.id for one in told(tmp_path, text).advice}
        assert ("repeated-blocks" in advice) is is_advised
        assert "keep-caches" in advice


def checked(module: str, size: str) -> str:
    source = f"{module}._parameters['weight']"
    return (
        f"| | +- TENSOR_MATCH: check_tensor({source}, Parameter, DispatchKeySet(CPU), "
        f"torch.float32, device=None, requires_grad=True, size=[{size}], stride=[9, 9, 3, 1])"
    )


@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [
        (["8, 8, 3, 3"] * 4, Blocks(4, ".net")),
        (["8, 3, 3, 3", "8, 8, 3, 3", "8, 8, 3, 3", "16, 8, 3, 3"], Blocks(2, ".net")),
        (["8, 3, 3, 3", "16, 8, 3, 3", "32, 16, 3, 3"], Blocks()),
    ],
)
def test_blocks_of_other_widths_are_not_alike(
    sizes: list[str], blocks: Blocks, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    modules = [at("net", str(n), "conv") for n in range(len(sizes))]
    lines = [checked(name, size) for name, size in zip(modules, sizes, strict=True)]
    log.write_text(tree(*modules) + "".join(f"{PREFIX}{line}\n" for line in lines))
    assert found(log) == blocks


@pytest.mark.parametrize(
    ("widths", "blocks"),
    [([8, 8, 8], Blocks(3, ".my_net.stages")), ([8, 16, 32], Blocks())],
)
def test_graphs_tell_widths_that_no_guard_checks(
    widths: list[int], blocks: Blocks, tmp_path: Path
) -> None:
    names = [at("my_net", "stages", str(n), "conv") for n in range(len(widths))]
    given = ", ".join(
        f"L_self_modules_my_net_modules_stages_modules_{n}_modules_conv_parameters_weight_: "
        f'"f32[{width}, 3, 3, 3][27, 9, 3, 1]cpu"'
        for n, width in enumerate(widths)
    )
    at_graph = f"{PREFIX.replace('guards.py:4483', 'output_graph.py:2835')}"
    graph = at_graph.replace("__guards", "__graph_code")
    lines = [
        "TRACED GRAPH",
        " ===== __compiled_fn_1 =====",
        " /home/ana/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):",
        f"    def forward(self, {given}):",
        "        return ()",
        "        ",
    ]
    log = tmp_path / "run.log"
    log.write_text("".join(f"{graph}{line}\n" for line in lines) + tree(*names))
    evidence, _ = read([str(log)])
    assert len(evidence.table(FxGraph)) == 1
    assert repeated(evidence.table(GuardTree), evidence.table(FxGraph)) == blocks
