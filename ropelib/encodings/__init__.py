"""Position encodings, one file each, behind one interface (`base.PositionEncoding`)."""

from ropelib.encodings.base import NoPosition, PositionEncoding, attend, signed_distance

__all__ = ["NoPosition", "PositionEncoding", "attend", "signed_distance"]
