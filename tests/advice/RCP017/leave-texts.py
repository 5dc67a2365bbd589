"""Words that a model is passed by name and does not read, but hands through a tree of all that it is passed."""

import torch
import torch.utils._pytree as pytree


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = torch.nn.Linear(8, 8)

    def forward(self, x, **kwargs):
        inputs = pytree.tree_map(lambda value: value, kwargs)
        return self.part(x) * inputs["scale"]


model = Model().eval()
compiled = torch.compile(model, backend="eager")
# before:
# after:
# compiled.register_forward_pre_hook(
#     lambda module, args, kwargs: (
#         args, {k: v for k, v in kwargs.items() if k not in {"words"}}
#     ),
#     with_kwargs=True,
# )
# end
x, scale = torch.ones(4, 8), torch.tensor(2.0)
texts = [["one"], ["one", "two"], ["one", "two", "three"], ["four", "two", "three", "one"]]


def step(number):
    with torch.no_grad():
        return compiled(x, scale=scale, words=[texts[number % 4], texts[0]])
