"""A model that sets a value of its config in the first call."""

import torch


class Config:
    def __init__(self):
        self.problem_type = None


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x):
        if self.config.problem_type is None:
            self.config.problem_type = "single_label_classification"
        return self.head(x)


model = Model()
# before:
# after:
# model.config.problem_type = 'single_label_classification'
# end
model.compile(backend="eager")
x = torch.ones(2, 4)


def step(number):
    return model(x)
