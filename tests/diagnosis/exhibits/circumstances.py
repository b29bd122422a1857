"""Rotations that are right, and wrong under autocast, by int32 or in the other of two modes."""

import torch

from exhibits.kit import DIM, PLAIN, exhibit, plain, turn
from ropelib import inv_freq
from ropelib.diagnosis import from_module

FLOATS = PLAIN.float()


@exhibit("angles by a product of matrices", "wrong-under-autocast", layout="half")
def _():
    return {"rotate": lambda x, ids: turn(x, (ids[..., None].float() @ FLOATS[None]), "half")}


@exhibit("angles by a product, autocast off", layout="half")
def _():
    def rotate(x, ids):
        with torch.autocast(x.device.type, enabled=False):
            return turn(x, (ids[..., None].float() @ FLOATS[None]), "half")

    return {"rotate": rotate}


@exhibit("the turn itself by a product of matrices", layout="half", positions=256)
def _():
    def rotate(x, ids):
        basis = torch.eye(DIM)[None, :, None].expand(1, -1, ids.shape[-1], -1)
        rows = [plain(basis, row)[0] for row in ids.reshape(-1, ids.shape[-1])]
        matrices = torch.stack(rows).permute(0, 2, 3, 1)[:, None]  # of each row and token
        return (matrices @ x.float()[..., None])[..., 0].to(x.dtype)

    return {"rotate": rotate, "max_position": 256}


@exhibit("a kernel that refuses autocast", notes=("autocast-refused",), layout="half")
def _():
    def rotate(x, ids):
        assert not torch.is_autocast_enabled(x.device.type), "no kernel for autocast"
        return plain(x, ids)

    return {"rotate": rotate}


@exhibit("int32 read as int64", "int32-positions-misread", layout="half")
def _():
    def rotate(x, ids):
        if ids.dtype == torch.int32:  # two to a number, and zeros where the memory ends
            ids = torch.cat((ids[..., ::2] + (ids[..., :1] * 0), 0 * ids), -1)[..., : ids.shape[-1]]
        return plain(x, ids)

    return {"rotate": rotate}


class Moded(torch.nn.Module):
    """A rotation that knows whether it is trained."""

    def __init__(self, rotate):
        super().__init__()
        self.rotate = rotate

    def forward(self, x, position_ids):
        return self.rotate(x, position_ids, self.training)


@exhibit("scaled in eval mode alone", "train-and-eval-differ", layout="half", base=10_000)
def _():
    return {"rotate": Moded(lambda x, ids, train: plain(x, ids, PLAIN if train else PLAIN / 4))}


@exhibit("a table of eval mode that ends", "train-and-eval-differ", layout="half", base=10_000)
def _():
    return {"rotate": Moded(lambda x, ids, train: plain(x, ids if train else ids.clamp(max=2047)))}


@exhibit("a table that eval() makes anew with another base", "train-and-eval-differ")
def _():
    class Module(torch.nn.Module):
        frequencies = PLAIN

        def train(self, mode=True):
            self.frequencies = PLAIN if mode else inv_freq(DIM, 500_000.0)
            return super().train(mode)

        def forward(self, q, k, position_ids):
            return tuple(plain(x, position_ids, self.frequencies) for x in (q, k))

    return {"rotate": from_module(Module())}


@exhibit("positions at random in train mode", notes=("random-in-training",), layout="half")
def _():
    return {"rotate": Moded(lambda x, ids, train: plain(x, ids + train * torch.rand(())))}


@exhibit("positions at random in train mode, given in eval", notes=("random-in-training",))
def _():
    return {"rotate": Moded(lambda x, ids, train: plain(x, ids + train * torch.rand(()))).eval()}


@exhibit("positions at random in eval mode", "train-and-eval-differ", layout="half")
def _():
    return {"rotate": Moded(lambda x, ids, train: plain(x, ids + (not train) * torch.rand(())))}


@exhibit("dynamic NTK in eval mode alone (Qwen)", notes=("frequencies-depend-on-length",))
def _():
    def rotate(x, ids, train):
        length = 2048 if train else max(2048, int(ids.max()) + 1)
        return plain(x, ids, inv_freq(DIM, 10_000.0 * (length / 2048) ** (64 / 62)))

    return {"rotate": Moded(rotate)}


@exhibit("a module that cannot change its mode, as exported ones", layout="half")
def _():
    class Exported(Moded):
        def train(self, mode=True):
            raise NotImplementedError("Calling train() is not supported yet.")

    return {"rotate": Exported(lambda x, ids, train: plain(x, ids))}


@exhibit("int32 rows take those of the first", "int32-positions-misread", layout="half")
def _():
    def rotate(x, ids):
        return plain(x, ids[:1].expand_as(ids) if ids.dtype == torch.int32 and len(x) > 1 else ids)

    return {"rotate": rotate}


@exhibit("int32 in bfloat16 is read late", "int32-positions-misread", layout="half")
def _():
    return {"rotate": lambda x, ids: plain(x, ids + (ids.dtype == torch.int32) * (x.itemsize == 2))}


@exhibit("rows share positions under autocast", "wrong-under-autocast", layout="half")
def _():
    def rotate(x, ids):
        shared = torch.is_autocast_enabled(x.device.type) and ids.dim() == 2
        return plain(x, ids[:1].expand_as(ids) if shared else ids)

    return {"rotate": rotate}


@exhibit("rows share positions in eval mode", "train-and-eval-differ", layout="half")
def _():
    def rotate(x, ids, train):
        return plain(x, ids if train or ids.dim() == 1 else ids[:1].expand_as(ids))

    return {"rotate": Moded(rotate)}
