"""A property read through ``super()`` while an attribute is set: the function runs eagerly."""

import torch


class Element(torch.nn.Module):
    def _features(self):
        return ["name"]

    @property
    def features(self):
        return self._features()

    def __setattr__(self, name, value):
        if hasattr(self, "features") and name in self.features:
            value = value * 1
        super().__setattr__(name, value)


class Drift(Element):
    # before:
    @property
    def features(self):
        return super().features + ["length"]

    # after:
    # def _features(self):
    #     return super()._features() + ["length"]
    # end

    def forward(self, x):
        y = x.sin()
        self.length = y
        return y.cos()


model = torch.compile(Drift(), backend="eager")


def step(number):
    return model(torch.ones(8))
