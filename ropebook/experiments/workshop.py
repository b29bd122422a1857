"""What a study works with: trained models, made once and kept, and a word on how far it is."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock
from tqdm import tqdm

from ropebook.experiments import engine, processes
from ropebook.experiments.engine import Trained
from ropebook.experiments.recipe import Recipe
from ropebook.experiments.transformer import Transformer


@dataclass
class Workshop:
    """A place to train in.

    Args:
        folder: where trained models and half-done ones are kept; nowhere unless given.
        device: "cpu", "cuda", ...
        steps: training steps in place of every recipe's own, to try a study quickly.
        quiet: whether to show no progress bar.
    """

    folder: Path | None = None
    device: str = "cpu"
    steps: int | None = None
    quiet: bool = True

    def trained(self, recipe: Recipe, seed: int) -> Trained:
        """Return the trained model of a recipe; kept, so that asking again costs little.

        Args:
            recipe: what to train.
            seed: of its weights and its data.
        """
        recipe = self._tried(recipe)
        path = self.folder and self.folder / f"{recipe.key}-{seed}.pt"
        with self._alone(path), self._bar(recipe, f"{recipe.encoding}, seed {seed}") as progress:
            return engine.train(recipe, seed, path=path, device=self.device, progress=progress)

    def tuned(self, start: Transformer, recipe: Recipe, seed: int) -> Trained:
        """Return a model that goes on from another one, by a recipe's steps; not kept.

        Args:
            start: stays as it is.
            recipe: of the further training: its length, its steps, its rate.
            seed: of the data.
        """
        recipe = self._tried(recipe)
        with self._bar(recipe, f"further, seed {seed}") as progress:
            return engine.train(recipe, seed, start=start, device=self.device, progress=progress)

    def _tried(self, recipe: Recipe) -> Recipe:
        return replace(recipe, num_steps=self.steps) if self.steps else recipe

    def _alone(self, path: Path | None) -> AbstractContextManager:
        """Let one process at a time train a model; those of one training hold together anyway."""
        if path is None or processes.count() > 1:
            return nullcontext()
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(f"{path}.lock")

    @contextmanager
    def _bar(self, recipe: Recipe, text: str) -> Iterator[Callable[[int, float], None]]:
        hidden = True if self.quiet or processes.rank() else None  # None: shown on a terminal
        with tqdm(total=recipe.num_steps, desc=text, unit="step", disable=hidden) as bar:

            def progress(step: int, loss: float) -> None:
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                bar.update(step - bar.n)

            yield progress
