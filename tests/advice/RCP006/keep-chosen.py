"""A layer looks up the adapter that an attribute names."""

# logs: recompiles
import torch

NAMES = ["de", "fr", "es", "it"]
torch.manual_seed(0)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8)
        self.table = torch.nn.ParameterDict({name: torch.randn(8, 8) for name in NAMES})

    def use(self, name):
        # before:
        self.active = name
        # after:
        # self.chosen = self.table[name]
        # end

    def forward(self, x):
        # before:
        return self.body(x) + x @ self.table[self.active]
        # after:
        # return self.body(x) + x @ self.chosen
        # end


model = Layer()
compiled = torch.compile(model, backend="eager")
x = torch.ones(2, 8)


def step(number):
    model.use(NAMES[number % 4])
    return compiled(x)
