"""Nine models set a value of their config in the first call, and the second has another size."""

import torch


class Config:
    def __init__(self):
        self.problem_type = None


SOURCE = """
def forward(self, x):
    y = x * 2
    if self.config.problem_type is None:
        self.config.problem_type = "regression"
    return self.head(y)
"""
torch.manual_seed(0)
models = []
for number in range(9):
    names = {}
    exec(SOURCE, names)
    model = type(f"Model{number}", (torch.nn.Module,), {"forward": names["forward"]})()
    model.head = torch.nn.Linear(4, 4)
    model.config = Config()
    # before:
    # after:
    # model.config.problem_type = 'regression'
    # end
    model.compile(backend="eager")
    models.append(model)


def step(number):
    x = torch.ones(4 + number % 3, 4)
    # before:
    # after:
    # torch._dynamo.maybe_mark_dynamic(x, 0)
    # end
    return sum(model(x).sum() for model in models)
