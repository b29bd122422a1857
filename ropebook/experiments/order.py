"""Who likes whom? A task that only the order of the words decides.

A sentence has four words: a name, 喜欢 (likes), another name, and a question mark. At the question
mark the model must say the first name, who likes. Each pair of names stands in the data in both
orders, and the pairs that are tested never occur in training, in neither order.
"""

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from ropebook.experiments.training import check_seeds, trained
from ropebook.experiments.transformer import Transformer
from ropelib import checks
from ropelib.encodings import NoPosition, PositionEncoding, Sinusoidal

ENCODINGS: dict[str, Callable[[int], PositionEncoding]] = {
    "none": lambda model_dim: NoPosition(),
    "sinusoidal": Sinusoidal,
}


@dataclass(frozen=True)
class Condition:
    """One kind of model.

    Args:
        name: what figures and tables call it.
        encoding: a key of `ENCODINGS`.
        causal: whether a word sees no later word.
        num_layers: number of layers.

    Raises:
        TypeError: if `num_layers` is not an integer.
        ValueError: if there is no such encoding, or `num_layers` is not positive.
    """

    name: str
    encoding: str
    causal: bool
    num_layers: int

    def __post_init__(self):
        if self.encoding not in ENCODINGS:
            raise ValueError(f"encoding must be one of {list(ENCODINGS)}, got {self.encoding!r}")
        checks.integer("num_layers", self.num_layers, 1)


CONDITIONS = (
    Condition("no mask, no positions, 2 layers", "none", False, 2),
    Condition("causal mask, no positions, 1 layer", "none", True, 1),
    Condition("causal mask, no positions, 2 layers", "none", True, 2),
    Condition("no mask, sinusoids, 1 layer", "sinusoidal", False, 1),
    Condition("causal mask, sinusoids, 1 layer", "sinusoidal", True, 1),
)


@dataclass(frozen=True)
class Config:
    """All numbers of the experiment.

    Args:
        num_names: how many names there are.
        num_held_out: how many pairs of names are kept for the test, each in both orders.
        model_dim: width of a word's vector.
        num_heads: heads per layer.
        num_steps: training steps, each on all training sentences.
        learning_rate: of Adam.
        seeds: one training run each; a seed decides the initial weights and the held-out pairs.
        conditions: the kinds of model.

    Raises:
        TypeError: if `num_steps` is not an integer.
        ValueError: if there are no pairs left to train or to test on, no steps, no seeds or one
            twice, or two conditions of one name.
    """

    num_names: int = 12
    num_held_out: int = 20
    model_dim: int = 32
    num_heads: int = 2
    num_steps: int = 60
    learning_rate: float = 6e-3
    seeds: tuple[int, ...] = (0, 1, 2)
    conditions: tuple[Condition, ...] = CONDITIONS

    def __post_init__(self):
        pairs = self.num_names * (self.num_names - 1) // 2
        if not 0 < self.num_held_out < pairs:
            raise ValueError(
                f"num_held_out must be from 1 to {pairs - 1}, for {self.num_names} names make "
                f"{pairs} pairs, got {self.num_held_out}"
            )
        checks.integer("num_steps", self.num_steps, 1)
        check_seeds(self.seeds)
        names = [condition.name for condition in self.conditions]
        if len(set(names)) < len(names):
            raise ValueError(f"conditions must have different names, got {names}")


@dataclass(frozen=True)
class Task:
    """Sentences of one seed, as token ids, and the right answers.

    Names are 0 to `num_names - 1`; then come the tokens of 喜欢 and of the question mark.
    """

    train: Tensor
    train_answers: Tensor
    test: Tensor
    test_answers: Tensor


@dataclass(frozen=True)
class Result:
    """What came out.

    Args:
        config: what was run.
        accuracy: condition -> share of the held-out questions answered rightly, one per seed.
        bag_limit: the best share that any model can reach for which a sentence is a bag of words.
        seconds: how long it took.
    """

    config: Config
    accuracy: Mapping[str, tuple[float, ...]]
    bag_limit: float
    seconds: float = field(compare=False)


def make_task(config: Config, seed: int) -> Task:
    """Return training and test sentences, which share no pair of names.

    Args:
        config: the numbers of the experiment.
        seed: decides which pairs are held out.

    Example:
        >>> task = make_task(Config(num_names=3, num_held_out=1), seed=0)
        >>> len(task.train), len(task.test)
        (4, 2)
    """
    pairs = torch.tensor(list(itertools.combinations(range(config.num_names), 2)))
    pairs = pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed))]
    held_out, kept = pairs[: config.num_held_out], pairs[config.num_held_out :]

    def sentences(chosen):
        both_orders = torch.cat([chosen, chosen.flip(1)])
        likes, question = (torch.full((len(both_orders),), config.num_names + i) for i in (0, 1))
        return torch.stack([both_orders[:, 0], likes, both_orders[:, 1], question], dim=1)

    train, test = sentences(kept), sentences(held_out)
    return Task(train, train[:, 0], test, test[:, 0])


def best_bag_accuracy(sentences: Tensor, answers: Tensor) -> float:
    """Return the largest share of right answers that a model can give that sees bags of words.

    Such a model gives all orders of the same words one answer, so of each bag it can have right
    no more than the answer that is right most often.

    Args:
        sentences: token ids, `(num_sentences, seq_len)`.
        answers: token ids, `(num_sentences,)`.

    Example:
        >>> best_bag_accuracy(torch.tensor([[0, 2, 1], [1, 2, 0]]), torch.tensor([0, 1]))
        0.5
    """
    bags = defaultdict(Counter)
    for sentence, answer in zip(sentences.tolist(), answers.tolist(), strict=True):
        bags[tuple(sorted(sentence))][answer] += 1
    return sum(max(bag.values()) for bag in bags.values()) / len(answers)


def train(condition: Condition, config: Config, task: Task, seed: int) -> Transformer:
    """Return a model trained on the task's training sentences; the same for the same seed."""

    def make():
        return Transformer(
            config.num_names + 2,
            model_dim=config.model_dim,
            num_heads=config.num_heads,
            num_layers=condition.num_layers,
            encoding=ENCODINGS[condition.encoding](config.model_dim),
            causal=condition.causal,
        )

    return trained(
        make,
        lambda model: F.cross_entropy(model(task.train)[:, -1], task.train_answers),
        seed=seed,
        num_steps=config.num_steps,
        learning_rate=config.learning_rate,
    )


@torch.no_grad()
def accuracy(model: Transformer, sentences: Tensor, answers: Tensor) -> float:
    """Return the share of sentences whose last word is given the right answer."""
    return (model(sentences)[:, -1].argmax(dim=-1) == answers).double().mean().item()


def run(config: Config = Config(), progress: Callable[[str], object] | None = None) -> Result:
    """Train every kind of model once per seed and test it on names never seen together.

    Args:
        config: the numbers of the experiment.
        progress: called with one line as each condition is done, such as `print`.

    Example:
        >>> config = Config(num_names=4, num_held_out=2, num_steps=1, seeds=(0,))
        >>> run(config).bag_limit
        0.5
    """
    start = time.perf_counter()
    tasks = {seed: make_task(config, seed) for seed in config.seeds}
    limits = {best_bag_accuracy(task.test, task.test_answers) for task in tasks.values()}
    found = {}
    for condition in config.conditions:
        found[condition.name] = tuple(
            accuracy(train(condition, config, task, seed), task.test, task.test_answers)
            for seed, task in tasks.items()
        )
        if progress:
            shares = "  ".join(f"{share:6.1%}" for share in found[condition.name])
            progress(f"{condition.name:36} {shares}")
    return Result(config, found, max(limits), time.perf_counter() - start)
