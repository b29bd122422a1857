"""Synthetic tasks."""

VOCAB_SIZE = 64
