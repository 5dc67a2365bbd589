"""An additive model: a small net for each column of the input, called one by one."""
# logs: output_code,graph_code

import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.mid = torch.nn.Linear(1, 8), torch.nn.Linear(8, 8)
        self.down = torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.down(torch.relu(self.mid(torch.tanh(self.up(x)))))


class Additive(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.nets = torch.nn.ModuleDict({f"feature_{n}": Net() for n in range(number)})

    def forward(self, x):
        inputs = x.split(1, 1)
        # before:
        outputs = [net(one) for net, one in zip(self.nets.values(), inputs, strict=True)]
        # after:
        # nets = list(self.nets.children())
        # held = {
        #     name: torch.stack([net.get_parameter(name) for net in nets])
        #     for name, _ in nets[0].named_parameters()
        # }
        #
        # def one(held, x):
        #     return torch.func.functional_call(nets[0], held, (x,))
        #
        # outputs = torch.vmap(one, randomness="different")(held, torch.stack(inputs))
        # end
        return sum(outputs).square().mean()


model = Additive(16)
compiled = torch.compile(model)
rows = torch.randn(32, 16)


def step(number):
    with torch.no_grad():
        return compiled(rows)
