"""Convolutions over heads of attention: the model is given three dimensions and makes four."""
# env: ONEDNN_VERBOSE=1
# adapted: the advice has no code, the tensor's name is the program's

first = torch.nn.Conv2d(4, 4, (33, 1), padding=(16, 0), groups=4, bias=False)
second = torch.nn.Conv2d(4, 4, (17, 1), padding=(8, 0), groups=4, bias=False)


@torch.compile(backend="eager")
def mix(x):
    heads = x.view(2, 64, 4, 16).permute(0, 2, 1, 3).contiguous()
    # before:
    # after:
    # heads = heads.contiguous(memory_format=torch.channels_last)
    # end
    return second(torch.relu(first(heads))) + heads


x = torch.randn(2, 64, 64)


def step(number):
    with torch.no_grad():
        return mix(x)
