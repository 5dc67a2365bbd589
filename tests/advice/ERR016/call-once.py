"""A setting of the build is asked for within what is compiled."""

import traceback

import torch

x = torch.ones(4)
# before:
# after:
# new_abi = torch.compiled_with_cxx11_abi()
# end


@torch.compile(backend="eager", fullgraph=True)
def fn(x):
    # before:
    new_abi = torch.compiled_with_cxx11_abi()
    # after:
    # end
    return x + 1 if new_abi else x


def step(number):
    try:
        return fn(x)
    except Exception:
        traceback.print_exc()
        return None
