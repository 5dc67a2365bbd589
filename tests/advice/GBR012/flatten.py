"""A weight in a class of tensors of the program's own, which wraps another tensor."""

# adapted: the class wraps one tensor, and says how it is made again

import torch
from torch.utils._pytree import tree_map


class Scaled(torch.Tensor):
    @staticmethod
    def __new__(cls, data):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)

    def __init__(self, data):
        self.inner = data

    # before:
    # after:
    # def __tensor_flatten__(self): return ['inner'], None
    #
    # @staticmethod
    # def __tensor_unflatten__(inner, context, size, stride):
    #     return Scaled(inner["inner"])
    # end

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].inner)

        def plain(one):
            return one.inner * 2 if isinstance(one, cls) else one

        return func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))


torch.manual_seed(0)
linear = torch.nn.Linear(8, 8)
weight = Scaled(linear.weight.detach())
linear.weight = torch.nn.Parameter(weight, requires_grad=False)
model = torch.compile(linear)
x = torch.randn(4, 8)


def step(number):
    with torch.no_grad():
        return model(x)
