"""Exact and sampled success of a policy on a set of mazes.

With reward ``exact`` a maze has one correct answer, so its success probability is the product of
that answer's token probabilities: one teacher-forced pass gives pass@k for every k, no noise.
With reward ``reach`` many walks are right, and success is counted over samples.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import encode_answers, encode_prompts
from fgrpo_bench.maze.verdict import correct
from fgrpo_bench.rng import stream
from fgrpo_bench.stats.pass_at_k import exact_pass_at_k, pass_at_k

Floats = NDArray[np.float64]
_ROWS = 32
_SAMPLES = 32 * 256  # at a time: each may go a way of its own, if the policy is lost


def answer_log_probs(model: Transformer, mazes: Mazes) -> torch.Tensor:
    """Return the log-probability of each maze's answer, [P], in nats, with gradient."""
    prompts, (answers, lengths) = encode_prompts(mazes), encode_answers(mazes)
    tokens = torch.from_numpy(np.concatenate((prompts, answers[:, :-1]), axis=1))
    hidden = model(tokens, torch.arange(tokens.shape[1]))[:, prompts.shape[1] - 1 :]
    target = torch.from_numpy(answers).unsqueeze(-1).to(hidden.device)
    logp = model.log_probs(hidden).gather(-1, target).squeeze(-1)
    inside = torch.arange(answers.shape[1]) < torch.from_numpy(lengths).unsqueeze(-1)
    return (logp * inside.to(hidden.device)).sum(dim=1)


def exact_success(model: Transformer, mazes: Mazes) -> Floats:
    """Return the probability that one sample solves each maze, [P] in [0, 1]."""
    with torch.inference_mode():
        parts = [
            answer_log_probs(model, mazes.take(slice(start, start + _ROWS))).cpu().double().exp()
            for start in range(0, len(mazes), _ROWS)
        ]
    return np.minimum(torch.cat(parts).numpy(), 1.0)


def sampled_success(
    model: Transformer, mazes: Mazes, config: MazeConfig, seed: int
) -> NDArray[np.int64]:
    """Return how many of ``evaluation.samples`` samples solve each maze, [P].

    Args:
        model: the policy.
        mazes: P mazes.
        config: the reward, the samples per maze and their longest answer.
        seed: seed of the draws; one stream per block of mazes.
    """
    samples, limit = config.evaluation.samples, config.maze.max_answer_tokens
    rows = max(1, min(_ROWS, _SAMPLES // samples))
    counts = []
    for start in range(0, len(mazes), rows):
        block = mazes.take(slice(start, start + rows))
        rng = stream(seed, "maze-evaluation", start)
        rollouts = sample(model, encode_prompts(block), samples, limit, rng)
        counts.append(correct(rollouts, block, config.maze.reward).sum(axis=1))
    return np.concatenate(counts)


@dataclass(frozen=True)
class Measured:
    """Success on P mazes: their probabilities [P], counts [P] of n samples each, or both."""

    p_exact: Floats | None
    n: int = 0
    c: NDArray[np.int64] | None = None

    @property
    def rate(self) -> Floats:
        """Success of each problem, [P] in [0, 1]: exact, or the share of right samples."""
        if self.p_exact is not None:
            return self.p_exact
        assert self.c is not None
        return self.c / self.n

    def pass_at_k(self, ks: Sequence[int]) -> Floats:
        """Return pass@k, [K]: exact where the probabilities are known, unbiased elsewhere."""
        if self.p_exact is not None:
            return exact_pass_at_k(self.p_exact, ks)
        assert self.c is not None
        return pass_at_k(self.n, self.c[:, None], ks).mean(axis=0)


def measure(
    model: Transformer, mazes: Mazes, config: MazeConfig, seed: int, extra: bool
) -> Measured:
    """Measure a policy's success on P mazes.

    Args:
        model: the policy.
        mazes: P mazes.
        config: reward and samples.
        seed: seed of the samples.
        extra: whether to draw the samples too where success is known exactly.
    """
    exact = config.maze.reward == "exact"
    p_exact = exact_success(model, mazes) if exact else None
    if not config.evaluation.samples or (exact and not extra):
        return Measured(p_exact)
    counts = sampled_success(model, mazes, config, seed)
    return Measured(p_exact, config.evaluation.samples, counts)


def guesser_success(training: Mazes, mazes: Mazes) -> Floats:
    """Return the success of a guesser that draws training paths by frequency, maze unseen, [P].

    It is the same for both rewards: the one path without a turn back that stays off the walls and
    ends at the goal is the answer.
    """
    frequency = Counter(path.tobytes() for path in training.moves)
    return np.array([frequency[path.tobytes()] / len(training) for path in mazes.moves])
