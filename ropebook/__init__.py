"""What the RoPE book is made of beyond its library: widgets, figures, exercises, experiments.

`ropelib` is what a code base would install, and knows nothing of this package. Here lives what only
the chapters use: widgets (`ropebook.widgets`), Plotly figures in the book's colors (`figures`,
`palette`), derivations that a program checks (`symbolic`), exercises, experiments, and what the
build adds to its pages (`site`, `fonts`).
"""
