"""cons@k: is the answer that most of k samples give right (arXiv 2203.11171)?"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cons_at_k(
    answers: Sequence[Hashable | None],
    correct: Sequence[bool],
    ks: Sequence[int],
    rng: np.random.Generator,
    draws: int = 2_000,
) -> Floats:
    """Return the chance that the majority of k of a problem's samples is right, [K].

    Answers of equal votes share the verdict as fractions. At k = 1 and k = n the value is exact;
    in between it is the mean over ``draws`` subsets of k samples, an unbiased estimate.

    Args:
        answers: [N] normalised answer of each sample; None (or NaN) for none, which has no vote.
        correct: [N] verdicts. Where equal answers were judged differently, the share of right ones
            is their answer's verdict.
        ks: K sample counts.
        rng: source of the subsets.
        draws: subsets drawn for each k.

    Returns:
        Chances in [0, 1]; NaN where k > N. Samples without any answer count as wrong.

    >>> answers, right = ["7", "7", "5", None], [True, True, False, False]
    >>> cons_at_k(answers, right, [1, 4], np.random.default_rng(0)).tolist()
    [0.5, 1.0]
    """
    if len(answers) != len(correct) or not len(answers):
        raise ValueError("answers and correct must be [N], one verdict an answer")
    votes, verdicts = _ballot(answers, correct)
    total = int(votes.sum())
    out = np.full(len(ks), np.nan)
    for place, k in enumerate(ks):
        if k < 1:
            raise ValueError("k must be at least 1")
        if k == 1:
            out[place] = votes @ verdicts / total
        elif k == total:
            out[place] = _winner(votes[None], verdicts)[0]
        elif k < total:
            subsets = rng.multivariate_hypergeometric(votes, k, size=draws, method="marginals")
            out[place] = _winner(subsets, verdicts).mean()
    return out


def _ballot(
    answers: Sequence[Hashable | None], correct: Sequence[bool]
) -> tuple[NDArray[np.int64], Floats]:
    """Return votes and verdict of each distinct answer; the first place is for no answer."""
    tally: dict[Hashable, list[float]] = {None: []}
    for answer, verdict in zip(answers, correct, strict=True):
        missing = answer is None or answer != answer  # NaN, as tables have it
        tally.setdefault(None if missing else answer, []).append(bool(verdict) and not missing)
    votes = np.array([len(verdicts) for verdicts in tally.values()])
    shares = [sum(verdicts) / max(len(verdicts), 1) for verdicts in tally.values()]
    return votes, np.array(shares)


def _winner(votes: NDArray[np.int64], verdicts: Floats) -> Floats:
    """Return the mean verdict of the answers with most votes, [B] for ballots [B, A]."""
    given = votes[:, 1:]
    if given.shape[1] == 0:
        return np.zeros(len(votes))
    most = given.max(axis=1, keepdims=True)
    winners = (given == most) & (most > 0)
    return winners @ verdicts[1:] / np.maximum(winners.sum(axis=1), 1)
