"""Small experiments, one file each: `run(config) -> Result`, seeded, on the reader's processor."""
