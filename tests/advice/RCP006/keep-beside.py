"""A request's id is passed through the model."""

import torch


@torch.compile(backend="eager")
# before:
def embed(x, request_id):
    return "emb-" + request_id, x * 2


# after:
# def embed(x):
#     return x * 2
# end


x = torch.ones(8)


def step(number):
    request_id = f"{number * 7919:08x}"
    # before:
    name, vector = embed(x, request_id)
    # after:
    # name, vector = "emb-" + request_id, embed(x)
    # end
    assert name.endswith(request_id)
    return vector
