"""Experiments, seeded: small ones that a chapter runs, and studies whose runs are recorded."""
