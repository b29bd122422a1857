"""Who rotates what: every model type of the transformers that is installed, measured and listed."""
