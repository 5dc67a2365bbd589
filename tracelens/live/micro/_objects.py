"""Guards on objects, modes and state as calls with some of our own.

What a log says of an object is its address or its name; how many there were is what counts.
"""

from __future__ import annotations

from tracelens.live.micro._calls import Calls, Failed

__all__ = [
    "aliases",
    "branches",
    "classes",
    "closures",
    "hyperparameters",
    "identities",
    "keys",
    "kinds",
    "modes",
    "names",
    "states",
]

#: The fewest and most calls of a program: the limit of torch is eight entries per function.
FEWEST, MOST = 3, 8


def _many(found: list[Failed]) -> range:
    """Return numbers for the recorded failures and the first call."""
    return range(min(MOST, max(FEWEST, len(found) + 1)))


def names(found: list[Failed]) -> Calls:
    """Return a string argument of several values, that selects a number."""
    modes = [f"mode {number}" for number in _many(found)]
    return Calls(
        f"a string argument takes {len(modes)} values",
        tuple(f"x, {mode!r}" for mode in modes),
        "what the string selects is passed, as a tensor",
        parameters="x, mode",
        body=("return torch.relu(x) * SCALES[mode]",),
        changed_arguments=tuple(f"x, torch.tensor(SCALES[{mode!r}])" for mode in modes),
        changed_body=("return torch.relu(x) * mode",),
        head=(f"SCALES = {{f'mode {{n}}': 1.0 + n for n in range({len(modes)})}}",),
    )


def identities(found: list[Failed]) -> Calls | None:
    """Return a function argument that is another one in every call; None for other objects."""
    passed = [check for check in found if check.kind == "identity" and check.note]
    if not any("function" in check.note and not check.path for check in passed):
        return None
    count = len(_many(found))
    return Calls(
        f"a function is passed, {count} different ones",
        tuple(f"x, FUNCTIONS[{number}]" for number in range(count)),
        "always the same function",
        parameters="x, function",
        body=("return function(x) + 1",),
        changed_arguments=("x, FUNCTIONS[0]",) * count,
        head=(
            "FUNCTIONS = [",
            *(f"    lambda x: torch.relu(x + {number})," for number in range(count)),
            "]",
        ),
    )


def classes(found: list[Failed]) -> Calls:
    """Return a module argument of several classes."""
    del found
    return Calls(
        "a function is called with modules of three classes",
        tuple(f"(LAYERS[{number}],), x" for number in range(3)),
        "the function that calls all of them is compiled",
        parameters="layers, x",
        body=("for layer in layers:", "    x = layer(x)", "return x"),
        changed_arguments=("LAYERS, x",) * 3,
        head=("LAYERS = (torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.Sigmoid())",),
    )


def modes(found: list[Failed]) -> Calls:
    """Return calls with and without gradients being recorded."""
    del found
    return Calls(
        "one function is called with and without gradients",
        ("x", "x"),
        "always without gradients",
        contexts=("torch.enable_grad()", "torch.no_grad()"),
        changed_contexts=("torch.no_grad()",) * 2,
    )


def kinds(found: list[Failed]) -> Calls:
    """Return a tensor that was made in inference mode, after another that was not."""
    del found
    return Calls(
        "a tensor made in inference mode after one made outside",
        ("torch.ones(16, 8)", "inferred()"),
        "always made outside",
        changed_arguments=("torch.ones(16, 8)",) * 2,
        contexts=("torch.no_grad()",) * 2,
        head=(
            "def inferred():",
            "    with torch.inference_mode():",
            "        return torch.ones(16, 8)",
        ),
    )


def aliases(found: list[Failed]) -> Calls:
    """Return two tensors that are one in some calls."""
    del found
    return Calls(
        "two arguments are the same tensor in some calls",
        ("x, x.clone()", "x, x"),
        "always two tensors",
        parameters="x, y",
        body=("return torch.relu(x) + y",),
        changed_arguments=("x, x.clone()",) * 2,
    )


def hyperparameters(found: list[Failed]) -> Calls | None:
    """Return steps of an optimizer with the recorded learning rates, and one more."""
    rates = [
        check.number
        for check in found
        if check.kind == "value" and check.number is not None and 0 < check.number < 1
    ]
    rates = list(dict.fromkeys([*rates, *(0.1 / (1 + each) for each in range(FEWEST - 1))]))
    return Calls(
        f"a compiled optimizer with {len(rates)} learning rates",
        tuple(f"at(make({rates[0]!r}), {rate!r})" for rate in rates),
        "the learning rate is a tensor",
        parameters="optimizer",
        body=("optimizer.step()",),
        changed_arguments=tuple(
            f"at(make(torch.tensor({rates[0]!r})), {rate!r})" for rate in rates
        ),
        structure="fewer",
        head=(
            "weight = torch.nn.Parameter(torch.ones(16, 8))",
            "",
            "",
            "def make(rate, made={}):",
            "    key = type(rate)",
            "    if key not in made:",
            "        made[key] = torch.optim.SGD([weight], lr=rate)",
            "    return made[key]",
            "",
            "",
            "def at(optimizer, rate):",
            "    weight.grad = torch.ones_like(weight)",
            "    for group in optimizer.param_groups:",
            '        if isinstance(group["lr"], torch.Tensor):',
            '            group["lr"].fill_(rate)',
            "        else:",
            '            group["lr"] = rate',
            "    return optimizer",
        ),
    )


def branches(found: list[Failed]) -> Calls | None:
    """Return a branch on the sign of a number that is a symbol; None for other relations."""
    signs = [check for check in found if check.kind == "range" and check.integer == 0]
    if not any(not check.note and check.name.isidentifier() for check in signs):
        return None
    return Calls(
        "a branch on a number that changes its sign",
        ("x, 2", "x, 3", "x, -4"),
        "the branch is taken before the call",
        parameters="x, n",
        body=("if n >= 0:", "    return torch.relu(x) + n", "return torch.relu(x) - n"),
        changed_arguments=("x, 2", "x, 3", "x, 4"),
        structure="fewer",  # the first other number compiles once more
    )


def closures(found: list[Failed]) -> Calls:
    """Return a closure over a number that is another one in every call."""
    count = len(_many(found))
    return Calls(
        f"a closure over {count} numbers",
        tuple(f"scaled({1.5 + number!r}), x" for number in range(count)),
        "the number is an argument, as a tensor",
        parameters="function, x",
        body=("return function(x)",),
        changed_arguments=tuple(f"torch.tensor({1.5 + number!r}), x" for number in range(count)),
        changed_body=("return torch.relu(x) * function",),
        head=(
            "def scaled(scale):",
            "    def function(x):",
            "        return torch.relu(x) * scale",
            "",
            "    return function",
        ),
    )


def keys(found: list[Failed]) -> Calls:
    """Return a dictionary with other keys in every call."""
    count = len(_many(found))
    return Calls(
        f"a dictionary takes {count} sets of keys",
        tuple(f"{{'x': x, 'key {number}': x}}" for number in range(count)),
        "always the same keys",
        parameters="batch",
        body=("return sum(torch.relu(each) for each in batch.values())",),
        changed_arguments=("{'x': x, 'key': x}",) * count,
    )


def states(found: list[Failed]) -> Calls:
    """Return a module that sets an attribute of its own when it is first called."""
    del found
    return Calls(
        "a module sets an attribute in its first call",
        ("at(False), x", "LAYER, x"),
        "it is set before the first call",
        parameters="self, x",
        body=(
            "if not self.ready:",
            "    self.ready = True",
            "return torch.relu(x) + 1",
        ),
        changed_arguments=("at(True), x", "LAYER, x"),
        head=(
            "LAYER = torch.nn.Identity()",
            "",
            "",
            "def at(ready):",
            "    LAYER.ready = ready",
            "    return LAYER",
        ),
    )
