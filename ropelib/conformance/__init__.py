"""Test vectors for implementations in any language, and the check of one in Python.

The vectors are numbers that everybody must arrive at: for every rope type, layout and partial form,
the frequencies, cosines and sines that a configuration asks for, and q and k before and after. They
are computed once, frequencies in decimal arithmetic and rotations in float64 by
`ropelib.reference`, from nothing that is fast, and are the same bytes on any processor.
"""

from ropelib.conformance.checker import Report, Verdict, check
from ropelib.conformance.files import read, suite, write

__all__ = ["Report", "Verdict", "check", "read", "suite", "write"]
