"""Sample one task into its store: only what is missing, block by block."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from fgrpo_bench.benchmarks.problems import Problem
from fgrpo_bench.errors import Failed
from fgrpo_bench.sampling.engines.base import Completion, Engine, Request, Settings
from fgrpo_bench.sampling.plan import LEAST, WHOLE, Block, Shard, plan, seed_bases
from fgrpo_bench.sampling.repeats import Repeats, Trace, trace
from fgrpo_bench.sampling.store import Fingerprint, Stored, refuse_overlaps, scan, write_block


def prompts_hash(problems: Sequence[Problem]) -> str:
    """Return the SHA-256 of all problems' ids and prompts, in order."""
    content = [[problem.problem_id, problem.prompt] for problem in problems]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Sampling:
    """The samples of one task by one engine, in a folder of their own."""

    def __init__(
        self, folder: Path, name: str, problems: Sequence[Problem], fingerprint: Fingerprint
    ) -> None:
        """Look at what is there.

        Args:
            folder: for the blocks.
            name: of the task, part of what seeds are derived from.
            problems: of the task.
            fingerprint: what the samples are drawn with; nothing else may be in the folder.

        Raises:
            UserError: a file that does not belong there, or samples that repeat.
        """
        self._folder, self._name = folder, name
        self._problems, self._fingerprint = problems, fingerprint
        self._repeats = Repeats()
        self.stored: list[Stored] = []
        for stored, traces in scan(folder, fingerprint, len(problems)):
            self._note(stored.block, traces)
            self.stored.append(stored)
        refuse_overlaps(self.stored)

    def missing(self, samples: int, block_rows: int, shard: Shard = WHOLE) -> list[Block]:
        """Return the blocks to sample for ``samples`` of every problem, as in ``plan``."""
        present = [stored.block for stored in self.stored]
        return plan(len(self._problems), samples, present, block_rows, shard)

    def fill(
        self,
        blocks: Sequence[Block],
        engine: Engine,
        settings: Settings,
        seed: int,
        on_block: Callable[[], None],
    ) -> None:
        """Sample blocks; each is on disk before the next is asked for.

        Args:
            blocks: what is missing.
            engine: the model.
            settings: how to sample.
            seed: of the evaluation; each request's own is derived from it.
            on_block: called after every block.

        Raises:
            UserError: from the engine, or samples that repeat; blocks before are kept.
            Failed: the engine returned something else than was asked for.
        """
        bases = seed_bases(seed, self._name, [problem.problem_id for problem in self._problems])
        for block in blocks:
            problems = self._problems[block.first : block.last]
            seeds = [base + block.start for base in bases[block.first : block.last]]
            each = block.stop - block.start
            requests = [
                Request(problem.prompt, each, own)
                for problem, own in zip(problems, seeds, strict=True)
            ]
            completions = engine.generate(requests, settings)
            _check(completions, requests, engine.name)
            traces = _traces(completions, each)
            self._note(block, traces)
            stored = write_block(
                self._folder, block, problems, completions, seeds, self._fingerprint, traces
            )
            self.stored.append(stored)
            on_block()

    @property
    def tokens(self) -> int | None:
        """Tokens of all responses that are there, None where an engine could not tell."""
        counts = [stored.tokens for stored in self.stored]
        return None if None in counts else sum(filter(None, counts))

    @property
    def equal_share(self) -> float:
        """Share of problems and blocks whose samples were all the same text."""
        return self._repeats.equal_share

    def _note(self, block: Block, traces: Sequence[Trace]) -> None:
        """Compare a block, unit by unit, with what there is: it may hold many requests' samples."""
        problems = range(block.first, block.last)
        for unit, start in enumerate(range(block.start, block.stop, LEAST)):
            place = unit * len(problems)
            self._repeats.add(problems, start, traces[place : place + len(problems)])


def _traces(completions: Sequence[Sequence[Completion]], each: int) -> list[Trace]:
    """Return the traces of all problems in the first unit of samples, then in the next."""
    return [
        trace([sample.text for sample in samples[start : start + LEAST]])
        for start in range(0, each, LEAST)
        for samples in completions
    ]


def _check(
    completions: Sequence[Sequence[Completion]], requests: Sequence[Request], engine: str
) -> None:
    """Refuse a short or long answer of an engine: a row must never be lost or invented."""
    got = [len(samples) for samples in completions]
    if got != [request.n for request in requests]:
        raise Failed(f"engine {engine} returned {sum(got)} samples for {len(requests)} prompts")
