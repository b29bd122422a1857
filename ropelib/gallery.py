"""The gallery of `ropelib.config` under the name by which notebooks import it."""

from ropelib.config.gallery import GALLERY, Model

__all__ = ["GALLERY", "Model"]
