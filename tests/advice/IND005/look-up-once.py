"""An index that comes from a tensor is looked up among other arithmetic."""
# logs: output_code,graph_code
# adapted: the lookup is in a function of its own

table, index = torch.rand(4096), torch.randint(0, 4096, (64, 2048))
x = torch.rand(64, 2048)


@torch.compile
def mixed(x, index):
    return torch.tanh(table[index] * x) + torch.exp(x)


def step(number):
    return mixed(x, index)
