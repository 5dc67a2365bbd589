"""A list that is indexed by numbers of a tensor, which no call changes."""

import torch

parents = torch.tensor([-1, 0, 0, 1, 2])


class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # before:
        self.parents = parents
        # after:
        # self.parents = parents
        # self.parents = self.parents.tolist()
        # end

    @torch.compile(backend="eager")
    def forward(self, parts):
        chain = [parts[0]]
        for i in range(1, len(self.parents)):
            chain.append(chain[self.parents[i]] @ parts[i])
        return torch.stack(chain)


model = Chain()
parts = torch.rand(5, 4, 4)


def step(number):
    return model(parts)
