"""Models share a decorator that is compiled."""

import torch


class Wrapper:
    pass


def decorated(function):
    @torch.compile(backend="eager")
    def wrapper(self, *args, **kwargs):
        output = function(self, *args, **kwargs)
        return output

    wrapper.inner = function
    return wrapper


class A(torch.nn.Module):
    @decorated
    def forward(self, x):
        return x + 1


class B(torch.nn.Module):
    @decorated
    def forward(self, x):
        return x * 2


class C(torch.nn.Module):
    @decorated
    def forward(self, x):
        return x - 1


models = [A(), B(), C()]
# before:
# after:
# for model in models:
#     model.forward = torch.compile(type(model).forward.inner.__get__(model), backend="eager")
# end
x = torch.ones(8)


def step(number):
    return models[number % 3](x)
