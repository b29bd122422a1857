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

from ropebook.experiments.seeding import seeded
from ropebook.experiments.transformer import Transformer
from ropelib.attention import attention_scores
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
        ValueError: if a size is too small or `model_dim` does not fit, or there are no seeds.
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
        if self.num_steps < 2:
            raise ValueError(f"num_steps must be at least 2, got {self.num_steps}")
        if not self.seeds:
            raise ValueError("seeds must name at least one seed, got none")

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
    with seeded(seed):
        model = Transformer(
            config.num_symbols * config.num_tags,
            model_dim=config.model_dim,
            num_heads=2,
            num_layers=1,
            encoding=Rotary(config.model_dim // 2),
            causal=True,
        )
        generator = torch.Generator().manual_seed(seed)
        optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, config.learning_rate, total_steps=config.num_steps
        )
        for _ in range(config.num_steps):
            texts = draw(config, config.batch_size, generator)
            symbol, tag = answers(model, texts.token_ids, config)
            previous = F.cross_entropy(symbol[:, 1:].flatten(0, 1), texts.symbols[:, :-1].flatten())
            earlier = F.cross_entropy(tag[texts.again], texts.tags[texts.again])
            optimizer.zero_grad()
            (config.previous_weight * previous + earlier).backward()
            optimizer.step()
            schedule.step()
    return model


def answers(model: Transformer, token_ids: Tensor, config: Config) -> tuple[Tensor, Tensor]:
    """Return the model's scores for the symbol before and for the tag of the first time."""
    scores = model(token_ids)
    first = config.num_symbols
    return scores[..., :first], scores[..., first : first + config.num_tags]


@torch.no_grad()
def head_vectors(model: Transformer, token_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first layer's queries and keys before their turn.

    Each is `(batch, num_heads, seq_len, head_dim)`.
    """
    layer = model.layers[0]
    x = layer.norm_attention(model.embedding(token_ids))
    q, k, _ = (
        part.unflatten(-1, (layer.num_heads, -1)).transpose(-3, -2)
        for part in layer.to_qkv(x).chunk(3, dim=-1)
    )
    return q, k


@torch.no_grad()
def read(model: Transformer, config: Config, seed: int) -> Reading:
    """Return what the heads of a trained model look for, from new texts.

    Args:
        model: from `train`.
        config: the numbers of the experiment.
        seed: of the texts.
    """
    texts = draw(config, config.num_test, torch.Generator().manual_seed(1000 + seed))
    symbol, tag = answers(model, texts.token_ids, config)
    encoding, position_ids = model.layers[0].encoding, torch.arange(config.seq_len)
    q, k = head_vectors(model, texts.token_ids)
    scores = attention_scores(*encoding.rotate(q, k, position_ids, position_ids))
    sees = torch.ones(config.seq_len, config.seq_len, dtype=torch.bool).tril()
    weights = scores.masked_fill(~sees, -torch.inf).softmax(dim=-1)

    same = texts.symbols[:, :, None] == texts.symbols[:, None, :]
    on_previous = weights.diagonal(-1, -2, -1).mean(dim=(0, 2))
    on_first = (weights * same.tril(-1)[:, None]).sum(dim=-1)
    on_first = on_first.movedim(1, -1)[texts.again].mean(dim=0)
    previous_head = int(on_previous.argmax())
    earlier_head = 1 - previous_head

    def by_distance(head, kept):
        means = []
        for back in range(config.seq_len):
            chosen = kept.diagonal(-back, -2, -1)
            means.append(scores[:, head].diagonal(-back, -2, -1)[chosen].mean().item())
        return tuple(means)

    mean_q, mean_k = (x[:, previous_head].mean(dim=(0, 1)) for x in (q, k))
    still = torch.zeros(config.seq_len, dtype=torch.long)
    clocks = attention_scores(
        *encoding.rotate(
            mean_q.expand(config.seq_len, -1),
            mean_k.expand(config.seq_len, -1),
            still,
            -position_ids,
        )
    )

    def pairs(x):
        return torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())

    factor = encoding.scale(q.shape[-1])
    twins = same & ~torch.eye(config.seq_len, dtype=torch.bool)
    q_pairs, k_pairs = pairs(q[:, earlier_head]), pairs(k[:, earlier_head])
    products = q_pairs.conj()[:, :, None] * k_pairs[:, None]
    right = symbol[:, 1:].argmax(dim=-1) == texts.symbols[:, :-1]
    found = tag.argmax(dim=-1)[texts.again] == texts.tags[texts.again]
    return Reading(
        previous_accuracy=right.double().mean().item(),
        earlier_accuracy=found.double().mean().item(),
        previous_head=previous_head,
        earlier_head=earlier_head,
        previous_weight=on_previous[previous_head].item(),
        earlier_weight=on_first[earlier_head].item(),
        previous_scores=by_distance(previous_head, torch.ones_like(same)),
        clocks=tuple(clocks[0].tolist()),
        same_scores=by_distance(earlier_head, same),
        different_scores=by_distance(earlier_head, ~same),
        previous_pairs=tuple((factor * pairs(mean_q).conj() * pairs(mean_k)).tolist()),
        same_pairs=tuple((factor * products[twins].mean(dim=0)).tolist()),
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
