"""What do heads look for? One trained layer, two questions, and the offsets that its heads learned.

A text holds every symbol twice, in random order, and each token wears a random tag. At each token
the model must say which symbol stood just before; and where a symbol comes for the second time,
which tag it wore the first time. The first question is about place alone, the second about content.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from ropebook.experiments.training import check_seeds, trained
from ropebook.experiments.transformer import Transformer
from ropelib import checks
from ropelib.attention import attend, attention_scores
from ropelib.encodings import Rotary


@dataclass(frozen=True)
class Config:
    """All numbers of the experiment.

    Args:
        num_symbols: how many symbols there are; a text is twice as long.
        num_tags: how many tags there are.
        model_dim: width of a token's vector, a multiple of 4: there are two heads.
        num_steps: training steps.
        batch_size: new texts per step.
        learning_rate: the highest, of Adam; it rises and falls.
        previous_weight: of the first question's loss, against 1 for the second: alone it is the
            easier one, and with equal weights both heads may settle on it.
        num_test: texts on which scores are read and accuracy is measured.
        seeds: one training run each.

    Raises:
        TypeError: if `num_steps` is not an integer.
        ValueError: if a size is too small or `model_dim` does not fit, or there are no seeds or one
            twice.
    """

    num_symbols: int = 8
    num_tags: int = 4
    model_dim: int = 32
    num_steps: int = 300
    batch_size: int = 64
    learning_rate: float = 1e-2
    previous_weight: float = 0.7
    num_test: int = 256
    seeds: tuple[int, ...] = (0, 1, 2)

    def __post_init__(self):
        if self.num_symbols < 3 or self.num_tags < 2:
            raise ValueError(
                "there must be at least 3 symbols and 2 tags, "
                f"got {self.num_symbols} and {self.num_tags}"
            )
        if self.model_dim < 4 or self.model_dim % 4:
            raise ValueError(f"model_dim must be a multiple of 4, got {self.model_dim}")
        # One more than asked: the schedule of the learning rate needs room to rise and fall.
        checks.integer("num_steps", self.num_steps, 2)
        check_seeds(self.seeds)

    @property
    def seq_len(self) -> int:
        """Tokens in a text."""
        return 2 * self.num_symbols


@dataclass(frozen=True)
class Texts:
    """Texts and what there is to know about them, each `(batch, seq_len)`.

    Args:
        token_ids: symbol * num_tags + tag.
        symbols: the symbol of each token.
        tags: the tag that the symbol wore the first time; of a first time, its own.
        again: bool, whether the symbol comes for the second time.
    """

    token_ids: Tensor
    symbols: Tensor
    tags: Tensor
    again: Tensor


@dataclass(frozen=True)
class Reading:
    """What was read off one trained layer. Distances are n - m = 0, -1, ..., 1 - seq_len.

    Args:
        previous_accuracy: share of first questions answered rightly.
        earlier_accuracy: share of second questions answered rightly.
        previous_head: the head that looks at the token before.
        earlier_head: the other one.
        previous_weight: how much of its attention `previous_head` gives to the token before.
        earlier_weight: how much of its attention `earlier_head` gives to the same symbol's first
            time, at its second.
        previous_scores: mean score of `previous_head` at each distance, whatever the tokens.
        clocks: the same from the mean query and the mean key alone, turned by the distance.
        same_scores: mean score of `earlier_head` at each distance, where both are one symbol.
        different_scores: the same where they are not; nan at distance 0.
        previous_pairs: per pair of dimensions of `previous_head`, from its mean query and key, the
            complex number A e^(i alpha): at distance n - m it adds A cos(alpha + (n - m) inv_freq).
        same_pairs: likewise of `earlier_head`, the mean over two tokens of one symbol.
    """

    previous_accuracy: float
    earlier_accuracy: float
    previous_head: int
    earlier_head: int
    previous_weight: float
    earlier_weight: float
    previous_scores: tuple[float, ...]
    clocks: tuple[float, ...]
    same_scores: tuple[float, ...]
    different_scores: tuple[float, ...]
    previous_pairs: tuple[complex, ...]
    same_pairs: tuple[complex, ...]

    @property
    def learned_offset(self) -> int:
        """The distance n - m at which `previous_head` has its highest mean score."""
        return -max(range(len(self.previous_scores)), key=self.previous_scores.__getitem__)


@dataclass(frozen=True)
class Result:
    """What came out.

    Args:
        config: what was run.
        readings: one per seed.
        seconds: how long it took.
    """

    config: Config
    readings: tuple[Reading, ...]
    seconds: float = field(compare=False)


def draw(config: Config, count: int, generator: torch.Generator) -> Texts:
    """Return random texts.

    Args:
        config: the numbers of the experiment.
        count: how many texts.
        generator: of the random numbers.

    Example:
        >>> texts = draw(Config(num_symbols=3), 2, torch.Generator().manual_seed(0))
        >>> texts.symbols.sort(dim=-1)[0].tolist()
        [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2]]
    """
    order = torch.rand(count, config.seq_len, generator=generator).argsort(dim=-1)
    symbols = order % config.num_symbols
    tags = torch.randint(config.num_tags, symbols.shape, generator=generator)
    same = symbols[:, :, None] == symbols[:, None, :]
    first = same.long().argmax(dim=-1)  # the place where this token's symbol comes first
    again = first < torch.arange(config.seq_len)
    return Texts(symbols * config.num_tags + tags, symbols, tags.gather(1, first), again)


def train(config: Config, seed: int) -> Transformer:
    """Return a trained model of one layer with two heads; the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)

    def make():
        return Transformer(
            config.num_symbols * config.num_tags,
            model_dim=config.model_dim,
            num_heads=2,
            num_layers=1,
            encoding=Rotary(config.model_dim // 2),
            causal=True,
        )

    def loss(model):
        texts = draw(config, config.batch_size, generator)
        symbol, tag = answers(model, texts.token_ids, config)
        previous = F.cross_entropy(symbol[:, 1:].flatten(0, 1), texts.symbols[:, :-1].flatten())
        earlier = F.cross_entropy(tag[texts.again], texts.tags[texts.again])
        return config.previous_weight * previous + earlier

    return trained(
        make,
        loss,
        seed=seed,
        num_steps=config.num_steps,
        learning_rate=config.learning_rate,
        one_cycle=True,
    )


def answers(model: Transformer, token_ids: Tensor, config: Config) -> tuple[Tensor, Tensor]:
    """Return the model's scores for the symbol before and for the tag of the first time."""
    scores = model(token_ids)
    first = config.num_symbols
    return scores[..., :first], scores[..., first : first + config.num_tags]


@torch.no_grad()
def read(model: Transformer, config: Config, seed: int) -> Reading:
    """Return what the heads of a trained model look for, from new texts.

    Args:
        model: from `train`.
        config: the numbers of the experiment.
        seed: of the texts.
    """
    texts = draw(config, config.num_test, torch.Generator().manual_seed(1000 + seed))
    layer, position_ids = model.layers[0], torch.arange(config.seq_len)
    q, k, v = layer.project(layer.norm_attention(model.embedding(texts.token_ids)))
    scores = attention_scores(*layer.encoding.rotate(q, k, position_ids, position_ids))
    _, weights = attend(layer.encoding, q, k, v, causal=True)

    same = texts.symbols[:, :, None] == texts.symbols[:, None, :]
    on_previous = weights.diagonal(-1, -2, -1).mean(dim=(0, 2))
    on_first = (weights * same.tril(-1)[:, None]).sum(dim=-1)
    on_first = on_first.movedim(1, -1)[texts.again].mean(dim=0)
    previous = int(on_previous.argmax())
    earlier = 1 - previous

    mean_q, mean_k = (x[:, previous].mean(dim=(0, 1)) for x in (q, k))
    everywhere = (x.expand(config.seq_len, -1) for x in (mean_q, mean_k))
    still = torch.zeros_like(position_ids)
    clocks = attention_scores(*layer.encoding.rotate(*everywhere, still, -position_ids))

    twins = same & ~torch.eye(config.seq_len, dtype=torch.bool)
    products = _pairs(q[:, earlier]).conj()[:, :, None] * _pairs(k[:, earlier])[:, None]
    scale = layer.encoding.scale(q.shape[-1])
    symbol, tag = answers(model, texts.token_ids, config)
    right = symbol[:, 1:].argmax(dim=-1) == texts.symbols[:, :-1]
    found = tag.argmax(dim=-1)[texts.again] == texts.tags[texts.again]
    return Reading(
        previous_accuracy=right.double().mean().item(),
        earlier_accuracy=found.double().mean().item(),
        previous_head=previous,
        earlier_head=earlier,
        previous_weight=on_previous[previous].item(),
        earlier_weight=on_first[earlier].item(),
        previous_scores=_by_distance(scores[:, previous], torch.ones_like(same)),
        clocks=tuple(clocks[0].tolist()),
        same_scores=_by_distance(scores[:, earlier], same),
        different_scores=_by_distance(scores[:, earlier], ~same),
        previous_pairs=tuple((scale * _pairs(mean_q).conj() * _pairs(mean_k)).tolist()),
        same_pairs=tuple((scale * products[twins].mean(dim=0)).tolist()),
    )


def run(config: Config = Config(), progress: Callable[[str], object] | None = None) -> Result:
    """Train one model per seed and read off what its heads look for.

    Args:
        config: the numbers of the experiment.
        progress: called with one line as each seed is done, such as `print`.

    Example:
        >>> config = Config(num_symbols=3, model_dim=8, num_steps=2, num_test=8, seeds=(0,))
        >>> len(run(config).readings[0].previous_scores)
        6
    """
    start = time.perf_counter()
    readings = []
    for seed in config.seeds:
        reading = read(train(config, seed), config, seed)
        readings.append(reading)
        if progress:
            progress(
                f"seed {seed}: head {reading.previous_head} looks {reading.learned_offset:+d} and "
                f"gives it {reading.previous_weight:.0%}; head {reading.earlier_head} gives the "
                f"same symbol {reading.earlier_weight:.0%}"
            )
    return Result(config, tuple(readings), time.perf_counter() - start)


def _by_distance(scores: Tensor, kept: Tensor) -> tuple[float, ...]:
    """Return the mean of the kept scores at each distance back, from 0 on."""
    return tuple(
        scores.diagonal(-back, -2, -1)[kept.diagonal(-back, -2, -1)].mean().item()
        for back in range(scores.shape[-1])
    )


def _pairs(x: Tensor) -> Tensor:
    """Return each pair of neighbors as a complex number."""
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
