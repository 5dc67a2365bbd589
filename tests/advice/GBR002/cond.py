"""One of two expensive results of a module, after the sign of a sum."""
# adapted: the two sides are named in the program

import torch


class Product(torch.nn.Module):
    def twice(self, x):
        return x @ x

    def thrice(self, x):
        return (x @ x) @ x

    def forward(self, x):
        # before:
        if x.sum() > 0:
            return self.twice(x).relu()
        return self.thrice(x).relu()
        # after:
        # return torch.cond(x.sum() > 0, self.twice, self.thrice, (x,)).relu()
        # end


product = torch.compile(Product(), backend="eager")
x = torch.rand(32, 32)


def step(number):
    with torch.no_grad():
        return product(x)
