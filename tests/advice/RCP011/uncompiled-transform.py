net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
model = torch.compile(net)


def step(number):
    x = torch.ones(3, 4)
    y = model(x)
    # before:
    slopes = torch.func.vmap(torch.func.jacrev(model))(x)
    # after:
    # slopes = torch.func.vmap(torch.func.jacrev(net))(x)
    # end
    return y.detach(), slopes.detach()
