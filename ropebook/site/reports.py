"""Files of code on a page, each with what the command line says of it when the page is built.

In Markdown, `{diagnosed} rope.py:rotate` with the file's text as its body; with `:report-only:` the
file is not shown, and `:could-not-run:` says that it cannot be checked.
"""

import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments.token import Generic, _TokenType
from sphinx.util.docutils import SphinxDirective

from ropebook.site import literals

VERDICTS = {
    "This rotation is right": Generic.Output.Right,
    "This rotation is wrong": Generic.Output.Wrong,
    "This rotation could not be checked": Generic.Output.Unchecked,
}
"""How a printed report begins, and the token of that line, a class of the page (book.css)."""
_COLUMN = re.compile(r" {2}\w+ {2,}|\w+ {2,}| +")
_FINDING = re.compile(r"(?:wrong|note ) {2}[\w-]+")
_BEGINS = re.compile(r"(?:(?:>>>|\.\.\.|\$)(?= ))? *")
_FITS = 32  # letters that stand side by side on the narrowest phone


def judged(tokens: Iterable[tuple[_TokenType, str]]) -> Iterator[tuple[_TokenType, str]]:
    r"""Return tokens of code in which the verdict of each printed report has a token of its own.

    Example:
        >>> said = [(Generic.Output, "This rotation is right.\n"), (Generic.Output, "1\n")]
        >>> [kind for kind, _ in judged(said)]
        [Token.Generic.Output.Right, Token.Generic.Output]
    """
    for kind, text in tokens:
        if kind is Generic.Output:
            kind = next((VERDICTS[head] for head in VERDICTS if text.startswith(head)), kind)
        yield kind, text


def hung(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    r"""Return lines of HTML in which those of a report or finding say where they go on when broken.

    Long lines that are typed in a terminal do so too, further in than they begin; those of code
    once they are on a phone (`book/_static/lines.js`).

    Args:
        lines: as `HtmlFormatter.wrap` gets them: whether it is one, and its HTML.

    Example:
        >>> said = ['<span class="go go-Right">This rotation is right.</span>\n',
        ...         '<span class="go">  layout  half</span>\n']
        >>> print(list(hung((1, line) for line in said))[1][1], end="")
        <span class="go" style="--in: 10">  layout  half</span>
        >>> print(*hung([(1, "  - run: python -m ropelib diagnose --json\n")]))
        (1, '<span style="--in: 6">  - run: ... <span class="rope-whole">--json</span></span>\n')
    """
    report = False
    for is_line, line in lines:
        text = html.unescape(re.sub(r"<[^>]+>", "", line)).rstrip()
        printed = 'class="go"' in line
        report = 'class="go go-' in line or (printed and (report or bool(_FINDING.match(text))))
        column = _COLUMN.match(text)
        typed = 'class="gp"' in line or (" --" in text and 'class="g' not in line)
        if report and column:
            line = line.replace('class="go"', f'class="go" style="--in: {column.end()}"', 1)
        elif typed and len(text) > _FITS:
            further = _BEGINS.match(text).end() + 4
            line = f'<span style="--in: {further}">{literals.typed(line.rstrip())}</span>\n'
        yield is_line, line


def diagnosed(name: str, code: str, *, could_not_run: bool = False) -> str:
    """Return the command that diagnoses a function of a file, and what it prints.

    Args:
        name: `rope.py:rotate`, the file and its function.
        code: the file's text.
        could_not_run: whether it is shown because it cannot be checked.

    Raises:
        ValueError: if the function cannot be checked, or can where it should not.
    """
    command = ["-m", "ropelib", "diagnose", name]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name.partition(":")[0]).write_text(code, "utf-8")
        done = subprocess.run(
            [sys.executable, *command], cwd=folder, capture_output=True, text=True, encoding="utf-8"
        )
    said = done.stdout + done.stderr
    if done.returncode not in ((2,) if could_not_run else (0, 1)):
        which = "cannot" if could_not_run else "can"
        raise ValueError(f"{name} must be a function that {which} be diagnosed, got {said}")
    return f"$ python {' '.join(command)}\n{(said if could_not_run else done.stdout).rstrip()}"


class Diagnosed(SphinxDirective):
    """`{diagnosed}`: a file and its report."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "report-only": directives.flag,
        "could-not-run": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Return the file and the report as blocks of code."""
        code = "\n".join(self.content)
        try:
            ends = "could-not-run" in self.options
            said = diagnosed(self.arguments[0], code + "\n", could_not_run=ends)
        except ValueError as error:
            raise self.error(str(error)) from error
        blocks = [(said, "console")]
        if "report-only" not in self.options:
            blocks.insert(0, (code, "python"))
        return [nodes.literal_block(text, text, language=language) for text, language in blocks]


def setup(app) -> None:
    """Register the directive with Sphinx."""
    app.add_directive("diagnosed", Diagnosed)
