"""Prompts, lists of numbers of several lengths, and one token after each."""

import torch

table = torch.arange(64.0).reshape(32, 2)


@torch.compile(backend="eager")
def embedded(tokens):
    return table[tokens].sum(0)


def prompted(prompt):
    # before:
    return embedded(prompt)
    # after:
    # with torch.compiler.set_stance("force_eager"):
    #     return embedded(prompt)
    # end


def step(number):
    prompt = [1, 2, 3, 4, 5, 6, 7][: 2 + number % 5]
    return prompted(prompt) + embedded([3])
