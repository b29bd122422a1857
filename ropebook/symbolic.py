"""SymPy statements about rotation, and derivations that check themselves.

A `Derivation` can only exist if every one of its lines equals the line before it, so what a chapter
displays has been verified by the act of displaying it.

Convention: counterclockwise rotation, and position m turns by m * theta with theta in rad/token,
as in `ropelib.rotation`. In LaTeX and here theta is the paper's letter; in code it is `inv_freq`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.printing.latex import LatexPrinter

m, n = sp.symbols("m n", real=True)
theta = sp.Symbol("theta", real=True)
q = sp.Matrix(sp.symbols("q_1 q_2", real=True))
k = sp.Matrix(sp.symbols("k_1 k_2", real=True))


class WrongStep(ValueError):
    """Raised when two neighboring lines of a derivation are not equal."""


def rotation(angle) -> sp.Matrix:
    r"""Return the matrix that turns the plane counterclockwise, [[cos, -sin], [sin, cos]].

    Args:
        angle: SymPy expression or number, in rad.

    Example:
        >>> rotation(sp.pi / 2) * sp.Matrix([1, 0])
        Matrix([
        [0],
        [1]])
    """
    return sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])


def product(*matrices) -> sp.Expr:
    """Return a matrix product that is displayed as written and multiplied out when compared.

    Example:
        >>> assert_equal(product(q.T, rotation(0), k), q.dot(k))
    """
    return sp.MatMul(*matrices, evaluate=False)


def difference(left, right):
    """Return `left - right`, simplified; zero (or a zero matrix) proves that the two are equal.

    Products left unevaluated for display are carried out first. One-by-one matrices count as
    their entry.

    Raises:
        ValueError: If one side is a matrix of another shape than the other.

    Example:
        >>> difference(sp.cos(m) ** 2, 1 - sp.sin(m) ** 2)
        0
    """
    left, right = _evaluate(left), _evaluate(right)
    if getattr(left, "shape", ()) != getattr(right, "shape", ()):
        raise ValueError(
            f"the sides must have one shape, got {getattr(left, 'shape', 'a scalar')} "
            f"and {getattr(right, 'shape', 'a scalar')}"
        )
    return sp.simplify(sp.expand_trig((left - right).expand(complex=True)))


def _evaluate(expression):
    expression = sp.sympify(expression)
    if hasattr(expression, "as_explicit"):  # a MatMul built with evaluate=False
        expression = expression.as_explicit()
    expression = expression.doit()
    if getattr(expression, "shape", None) == (1, 1):
        return expression[0, 0]
    return expression


def assert_equal(left, right) -> None:
    """Raise `WrongStep`, with what is left over, unless SymPy proves that the sides are equal.

    Raises:
        WrongStep: If `left - right` does not simplify to zero.

    Example:
        >>> assert_equal(rotation(m) * rotation(n), rotation(m + n))
    """
    rest = difference(left, right)
    if rest != sp.zeros(*rest.shape) if hasattr(rest, "shape") else rest != 0:
        raise WrongStep(f"{left} is not {right}: their difference is {rest}")


@dataclass(frozen=True)
class Step:
    """One line of a derivation and why it follows from the line before."""

    expression: sp.Basic
    reason: str


class Derivation:
    """A chain of equal expressions, each checked against the one before when it is made.

    Args:
        start: the expression that the derivation begins with.
        steps: pairs (expression, reason), in order.
        name: TeX for the left-hand side, printed before the first line.

    Raises:
        WrongStep: If a line does not equal the line before; it names the line.

    Example:
        >>> chain = Derivation(sp.sin(2 * m), [(2 * sp.sin(m) * sp.cos(m), "double angle")])
        >>> chain.end
        2*sin(m)*cos(m)
    """

    def __init__(self, start, steps: Sequence[tuple], *, name: str = ""):
        self.name = name
        self.start = start
        self.steps = tuple(Step(*step) for step in steps)
        before = start
        for number, step in enumerate(self.steps, 1):
            try:
                assert_equal(before, step.expression)
            except WrongStep as wrong:
                raise WrongStep(f"line {number} ({step.reason}): {wrong}") from None
            before = step.expression

    @property
    def end(self):
        """The last line."""
        return self.steps[-1].expression if self.steps else self.start

    def _repr_markdown_(self) -> str:
        name = f"{self.name} = " if self.name else ""
        lines = [f"$$ {name}{_latex(self.start)} $$"]
        for step in self.steps:
            lines += [f"*{step.reason}:*", f"$$ = {_latex(step.expression)} $$"]
        return "\n\n".join(lines)


class Formula:
    r"""Expressions side by side, as a formula that notebooks and the book typeset.

    Example:
        >>> Formula(theta * (n - m))._repr_markdown_()
        '$$ \\left(n - m\\right) \\theta $$'
    """

    def __init__(self, *expressions):
        self.expressions = expressions

    def _repr_markdown_(self) -> str:
        formulas = r", \qquad ".join(map(_latex, self.expressions))
        return f"$$ {formulas} $$"


class _Printer(LatexPrinter):
    """Writes q before k, factors before angles, n - m and not -m + n, as by hand."""

    def _as_ordered_terms(self, expr, order=None):
        return sorted(super()._as_ordered_terms(expr), key=lambda t: t.could_extract_minus_sign())

    def _print_Mul(self, expr):
        return super()._print_Mul(sp.Mul._from_args(sorted(expr.args, key=_place_in_product)))


def _place_in_product(factor) -> tuple:
    is_letter = factor.as_base_exp()[0].is_Symbol
    real = factor.is_number and factor.is_real
    kinds = (real, factor.is_number, factor in q, factor in k, factor.is_Add, is_letter)
    place = kinds.index(True) if True in kinds else len(kinds)
    return place, factor == theta, factor.count_ops(), str(factor)


def _latex(expression) -> str:
    printer = _Printer({"order": "none", "mat_delim": "(", "mat_str": "matrix"})
    return printer.doprint(expression)


def score() -> sp.Expr:
    r"""Return the score q_m . k_n in the plane, q and k turned by m theta and by n theta.

    Source: RoFormer (Su et al. 2021, arXiv:2104.09864), section 3.2.1, written with real vectors.
    """
    return (rotation(m * theta) * q).dot(rotation(n * theta) * k)


def score_closed_form() -> sp.Expr:
    r"""Return (q . k) cos((n - m) theta) - (q x k) sin((n - m) theta), q x k = q_1 k_2 - q_2 k_1.

    Equal to `score()`; the tests prove it, and refuse it with n - m and m - n exchanged.
    """
    turned = (n - m) * theta
    cross = q[0] * k[1] - q[1] * k[0]
    return q.dot(k) * sp.cos(turned) - cross * sp.sin(turned)
