"""The museum of shipped bugs: each a few lines, with its thread, its symptom and its mend."""

from ropebook.museum import (
    batches,
    caches,
    fast_paths,
    first_token,
    images,
    lengths,
    training,
)
from ropebook.museum.kit import Exhibit, Hall, Meant

__all__ = ["EXHIBITS", "HALLS", "Exhibit", "Hall", "Meant"]

HALLS = {
    module.HALL.name: module.HALL
    for module in (first_token, lengths, batches, images, training, fast_paths, caches)
}
"""Symptom: its hall, in the order of the page."""
EXHIBITS = {exhibit.name: exhibit for hall in HALLS.values() for exhibit in hall.exhibits}
"""Name: exhibit."""
