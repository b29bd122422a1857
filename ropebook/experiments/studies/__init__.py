"""What is recorded for the chapters: each has `CONFIG`, `CASES`, `run(case, seed, workshop)`."""
