"""An encoder of torch's with a causal mask."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, x):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        # before:
        x = self.encoder(x, mask=mask)
        # after:
        # x = self.encoder(x, mask=mask, is_causal=True)
        # end
        return x.relu()


torch.manual_seed(0)
model = Model().eval()
x = torch.randn(2, 5, 16)

compiled = torch.compile(model, backend="eager")


def step(number):
    return compiled(x)
