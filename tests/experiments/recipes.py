"""A recipe that trains in a second."""

from ropebook.experiments.recipe import Recipe

SMALL = Recipe(model_dim=16, seq_len=16, num_steps=120, batch_size=4, warmup=5, dtype="float32")
