"""Where the uncertainty of pass@k comes from: problems, samples and training runs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Variance of a benchmark's pass@k by source, each [K]; their sum is ``total``.

    Attributes:
        problems: another set of problems of this kind would change it by this much.
        sampling: other samples of the same policy on the same problems would.
        runs: another training run would, alike on all problems; NaN with one run.
        interaction: another training run would, on each problem otherwise; NaN with one run.
    """

    problems: Floats
    sampling: Floats
    runs: Floats
    interaction: Floats

    @property
    def total(self) -> Floats:
        """The variance of the mean over problems and runs, [K]."""
        parts = np.stack([self.problems, self.sampling, self.runs, self.interaction])
        return np.where(np.isnan(self.problems), np.nan, np.nansum(parts, axis=0))


def variance_split(values: Floats, sampling: Floats | None = None) -> Split:
    """Split the variance of the mean over P problems and R training runs by its sources.

    With several runs the model is value = mean + run + problem + run x problem + sampling, and the
    components come from the mean squares of a two-way analysis of variance without replication
    (Searle, Casella and McCulloch 1992, section 4.3; negative estimates are set to 0). With one
    run, the sample variance over problems less the sampling part.

    Args:
        values: [R, P, K] pass@k of each run and problem, in [0, 1].
        sampling: [R, P, K] variance of each value, from ``success_variance``; None where success
            probabilities are known exactly.

    Raises:
        ValueError: other shapes.
    """
    data = np.asarray(values, dtype=np.float64)
    noise = np.zeros_like(data) if sampling is None else np.asarray(sampling, dtype=np.float64)
    if data.ndim != 3 or noise.shape != data.shape or 0 in data.shape:
        raise ValueError("values and sampling must be [R, P, K], none of them empty")
    runs, problems, ks = data.shape
    undefined = np.full(ks, np.nan)
    within = noise.mean(axis=(0, 1))
    if problems == 1:
        return Split(undefined, within / runs, undefined, undefined)
    if runs == 1:
        between = np.maximum(data[0].var(axis=0, ddof=1) - within, 0.0)
        return Split(between / problems, within / problems, undefined, undefined)
    of_run, of_problem, residual = _mean_squares(data)
    by_run = np.maximum((of_run - residual) / problems, 0.0)
    by_problem = np.maximum((of_problem - residual) / runs, 0.0)
    cells = runs * problems
    mixed = np.maximum(residual - within, 0.0)
    return Split(by_problem / problems, within / cells, by_run / runs, mixed / cells)


def _mean_squares(data: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean squares of runs, problems and residual of [R, P, K], each [K]."""
    runs, problems, _ = data.shape
    run_means, problem_means = data.mean(axis=1), data.mean(axis=0)
    grand = run_means.mean(axis=0)
    residual = data - run_means[:, None] - problem_means + grand
    degrees = (runs - 1) * (problems - 1)
    return (
        problems * run_means.var(axis=0, ddof=1),
        runs * problem_means.var(axis=0, ddof=1),
        (residual**2).sum(axis=(0, 1)) / degrees,
    )
