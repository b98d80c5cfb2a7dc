"""Random streams: every draw comes from (seed, purpose, index), never from a global generator.

A stream that is a function of its name needs no saved state: a resumed run asks for the stream of
step 137 and gets the same numbers as the run that was never interrupted.
"""

import hashlib

import numpy as np


def stream(seed: int, purpose: str, index: int = 0) -> np.random.Generator:
    """Return the generator of one purpose and index under a seed.

    Args:
        seed: the run's or the data's seed.
        purpose: what the draws are for, such as ``"rollout"``.
        index: which step, block or problem of that purpose.

    >>> stream(0, "rollout", 3).integers(100) == stream(0, "rollout", 3).integers(100)
    np.True_
    >>> stream(0, "rollout", 3).random() == stream(0, "rollout", 4).random()
    False
    """
    digest = hashlib.sha256(f"{seed}/{purpose}/{index}".encode()).digest()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest))))
