"""A reader of lines: convolutions, and a recurrent module over packed sequences behind them."""
# logs: graph_breaks,graph_code

import torch
from torch import nn

torch.manual_seed(0)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.rnn = nn.LSTM(8 * 4, 8, batch_first=True)

    def forward(self, image, widths):
        x = self.cnn(image)
        x = x.permute(0, 3, 1, 2).flatten(2)
        packed = nn.utils.rnn.pack_padded_sequence(x, widths, batch_first=True)
        y, _ = self.rnn(packed)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0]


model = Reader()


# before:
@torch.compile
# after:
# model.cnn = torch.compile(model.cnn)
# end
def loss_of(image, widths):
    return model(image, widths).square().mean()


image, widths = torch.randn(2, 1, 8, 32), torch.tensor([16, 12])


def step(number):
    return loss_of(image, widths)
