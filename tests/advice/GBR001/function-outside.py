"""Boxes are suppressed one after the other within the compiled function."""

import torch


def kept(boxes, scores):
    order = scores.argsort(descending=True)
    picked = []
    for _ in range(3):
        i = order[0]
        near = (boxes[i][None] - boxes[order[1:]]).abs().sum(-1)
        picked.append(i)
        order = order[1:] + 0 * near.long()
    return boxes[torch.stack(picked)]


@torch.compile(backend="eager")
def detect(x):
    boxes, scores = torch.relu(x), x.sum(-1)
    # before:
    return kept(boxes, scores)
    # after:
    # return boxes, scores
    # end


x = torch.rand(8, 4)


def step(number):
    # before:
    return detect(x)
    # after:
    # return kept(*detect(x))
    # end
