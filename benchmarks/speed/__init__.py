"""How long a rotation takes beside everybody else's, in the same run: `python benchmarks/speed`."""
