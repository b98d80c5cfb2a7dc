"""Exact and sampled success of a policy on a set of mazes.

With reward ``exact`` a maze has one correct answer, so its success probability is the product of
that answer's token probabilities: one teacher-forced pass gives pass@k for every k, no noise.
"""

from collections import Counter

import numpy as np
import torch
from numpy.typing import NDArray

from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import encode_answers, encode_prompts
from fgrpo_bench.rng import stream

Floats = NDArray[np.float64]
_ROWS = 32


def answer_log_probs(model: Transformer, mazes: Mazes) -> torch.Tensor:
    """Return the log-probability of each maze's answer, [P], in nats, with gradient."""
    prompts, (answers, lengths) = encode_prompts(mazes), encode_answers(mazes)
    tokens = torch.from_numpy(np.concatenate((prompts, answers[:, :-1]), axis=1))
    hidden = model(tokens, torch.arange(tokens.shape[1]))[:, prompts.shape[1] - 1 :]
    target = torch.from_numpy(answers).unsqueeze(-1)
    logp = model.log_probs(hidden).gather(-1, target).squeeze(-1)
    inside = torch.arange(answers.shape[1]) < torch.from_numpy(lengths).unsqueeze(-1)
    return (logp * inside).sum(dim=1)


def exact_success(model: Transformer, mazes: Mazes) -> Floats:
    """Return the probability that one sample solves each maze, [P] in [0, 1]."""
    with torch.inference_mode():
        parts = [
            answer_log_probs(model, mazes.take(slice(start, start + _ROWS))).double().exp()
            for start in range(0, len(mazes), _ROWS)
        ]
    return np.minimum(torch.cat(parts).numpy(), 1.0)


def sampled_success(
    model: Transformer, mazes: Mazes, samples: int, max_tokens: int, seed: int
) -> NDArray[np.int64]:
    """Return how many of ``samples`` samples solve each maze, [P].

    Args:
        model: the policy.
        mazes: P mazes.
        samples: samples per maze n.
        max_tokens: answer tokens after which a sample is cut.
        seed: seed of the draws; one stream per block of mazes.
    """
    counts = []
    for start in range(0, len(mazes), _ROWS):
        block = mazes.take(slice(start, start + _ROWS))
        rng = stream(seed, "maze-evaluation", start)
        rollouts = sample(model, encode_prompts(block), samples, max_tokens, rng)
        counts.append(rollouts.matches(encode_answers(block)[0]).sum(axis=1))
    return np.concatenate(counts)


def guesser_success(training: Mazes, mazes: Mazes) -> Floats:
    """Return the success of a guesser that draws training paths by frequency, maze unseen, [P]."""
    frequency = Counter(path.tobytes() for path in training.moves)
    return np.array([frequency[path.tobytes()] / len(training) for path in mazes.moves])
