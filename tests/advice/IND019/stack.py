"""An ensemble whose members are called in a loop."""
# logs: output_code

import torch

torch.manual_seed(0)


def member():
    return torch.nn.Sequential(torch.nn.Linear(16, 48), torch.nn.ReLU(), torch.nn.Linear(48, 1))


members = [member().eval() for _ in range(24)]
rows = torch.randn(32, 16)

# before:
# after:
# from torch.func import functional_call, stack_module_state
#
# params, buffers = stack_module_state(members)
#
# def call(params, buffers, x):
#     return functional_call(members[0], (params, buffers), (x,))
# end


@torch.compile
def ensemble(x):
    # before:
    y = torch.stack([one(x) for one in members])
    # after:
    # y = torch.vmap(call, (0, 0, None))(params, buffers, x)
    # end
    return y.mean(0)


def step(number):
    with torch.no_grad():
        return ensemble(rows)
