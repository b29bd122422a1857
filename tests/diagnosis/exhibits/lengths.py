"""Frequencies that depend on the length, and what tells it."""

import torch

from exhibits.kit import exhibit, turn

WIDTH, BASE, TRAINED = 80, 1e6, 1024


def dynamic(length, layout="half"):
    """Turn by the base of dynamic NTK, at the length that a function makes of positions."""

    def rotate(x, ids):
        grown = (torch.as_tensor(length(ids)).double() / TRAINED).clamp(min=1)
        bases = BASE * (2 * grown - 1) ** (WIDTH / (WIDTH - 2))
        exponents = torch.arange(0, WIDTH, 2).double() / WIDTH
        speeds = bases[..., None] ** -exponents
        speeds = speeds[:, None] if speeds.dim() == 2 else speeds
        return turn(x, ids[..., None].double() * speeds, layout)

    return {"rotate": rotate, "head_dim": WIDTH}


RIGHT = {
    "the largest position of all": lambda ids: ids.max() + 1,
    "the largest of each row": lambda ids: ids.amax(-1) + 1,
}
TOLD_BY_ONE = {
    "the first row": lambda ids: ids.max() + 1 if ids.dim() == 1 else ids[0].max() + 1,
    "the last token of all": lambda ids: ids.flatten()[-1] + 1,
    "the last token of each row": lambda ids: ids[..., -1].max() + 1,
    "the last token of the first row": lambda ids: ids.reshape(-1, ids.shape[-1])[0, -1] + 1,
    "in rows their number": lambda ids: ids.max() + 1 if ids.dim() == 1 else ids.numel(),
}

for name, length in RIGHT.items():

    @exhibit(f"dynamic NTK, length by {name}", notes=("frequencies-depend-on-length",))
    def _(length=length):
        return dynamic(length)


for i, (name, length) in enumerate(TOLD_BY_ONE.items()):

    @exhibit(f"dynamic NTK, length by {name}", "length-told-by-one")
    def _(length=length, layout=("half", "interleaved")[i % 2]):
        return dynamic(length, layout)
