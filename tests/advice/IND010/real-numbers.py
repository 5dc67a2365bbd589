"""A rotation by complex numbers."""
# logs: output_code,graph_code

x = torch.rand(4, 128, 64)
angles = torch.outer(torch.arange(128), torch.rand(32))
cos, sin = angles.cos(), angles.sin()


@torch.compile
def rotate(x):
    # before:
    turned = torch.view_as_complex(x.reshape(4, 128, 32, 2)) * torch.complex(cos, sin)
    y = torch.view_as_real(turned).flatten(-2)
    # after:
    # a, b = x.reshape(4, 128, 32, 2).unbind(-1)
    # y = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    # end
    return y


def step(number):
    return rotate(x)
