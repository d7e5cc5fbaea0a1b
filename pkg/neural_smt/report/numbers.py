"""Numbers as the tables show them; what is not there is shown as nothing."""

from collections.abc import Sequence

from neural_smt.report.scores import Cell, mean, spread


def score_text(cell: Cell) -> str:
    """sacreBLEU of a system on a set: its mean over runs, and its standard deviation where there are several."""
    return mean_text(cell.sacrebleu)


def mean_text(values: Sequence[float]) -> str:
    """``20.50 ± 0.71``."""
    deviation = spread(values)
    return f"{mean(values):.2f}" + (f" ± {deviation:.2f}" if deviation is not None else "")


def number_text(value: float | None, digits: int) -> str:
    """With so many digits after the point."""
    return "" if value is None else f"{value:.{digits}f}"


def plain_text(value: float | None) -> str:
    """Six significant digits, for a CSV."""
    return "" if value is None else f"{value:.6g}"


def p_value_text(value: float | None) -> str:
    """Three digits after the point; smaller ones are not told apart."""
    if value is None:
        return ""
    return f"{value:.3f}" if value >= 0.001 else "<0.001"
