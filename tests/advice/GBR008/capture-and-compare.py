"""A package's network takes loops out of its edges in every layer, of which it has four."""

import torch


def library(text, name="oddlib"):
    """Install a package of one module, and import it."""
    import importlib
    import sys
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp()) / "site-packages"
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


odd = library("""
import torch


def without_loops(edges):
    return edges[:, edges[0] != edges[1]]


class Layer(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)

    def forward(self, x, edges):
        source, target = without_loops(edges)
        return torch.zeros_like(x).index_add_(0, target, self.linear(x)[source]).tanh()


class Network(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(features) for _ in range(4)])

    def forward(self, x, edges):
        for layer in self.layers:
            x = layer(x, edges)
        return x.mean()
""")
nodes, features = 24, 8
x = torch.randn(nodes, features)
edges = torch.randint(0, nodes, (2, 96))
model = torch.compile(odd.Network(features))


def step(number):
    with torch.no_grad():
        return model(x, edges)
