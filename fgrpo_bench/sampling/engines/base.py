"""What every engine offers: n samples of each prompt under a seed, with how each one ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from fgrpo_bench.benchmarks.problems import Prompt

Finish: TypeAlias = Literal["stop", "length"]


@dataclass(frozen=True)
class Settings:
    """How to sample: the same for every request of a task.

    Attributes:
        temperature: 0 is greedy.
        top_p: mass of the nucleus, 1 for all.
        max_tokens: limit of a response's length in tokens.
        stop: texts that end a response; they are not part of it.
        template: further arguments of the chat template.
    """

    temperature: float
    top_p: float
    max_tokens: int
    stop: tuple[str, ...] = ()
    template: dict[str, Any] = field(default_factory=dict)


class Request(NamedTuple):
    """``n`` samples of one prompt; ``seed`` (31 bits) decides which.

    Seeds of one prompt lie n apart at least: engines count them up for the samples of a request.
    """

    prompt: Prompt
    n: int
    seed: int


class Completion(NamedTuple):
    """One sample.

    Attributes:
        text: without the stop.
        tokens: how many were sampled, with those of the stop, as servers count and bill them;
            None where the engine cannot know.
        finish: ``length`` where the limit cut it.
    """

    text: str
    tokens: int | None
    finish: Finish


class Engine(Protocol):
    """A model that can be sampled.

    Attributes:
        name: such as ``hf``.
        family: ``qwen2.5``, ``qwen3``, ``llama`` or None, for prompts that depend on it.
        block_rows: about how many samples to ask for at once; what a kill may lose.
        identity: what decides the distribution: model, revision or hash of the weights, precision.
            JSON; no paths of the machine, no credentials.
    """

    name: str
    family: str | None
    block_rows: int
    identity: dict[str, Any]

    def generate(self, requests: Sequence[Request], settings: Settings) -> list[list[Completion]]:
        """Return the n completions of every request, in order.

        The result is a function of the arguments alone, as far as the hardware allows: equal
        requests under another seed give other samples, and nothing carries over between calls.

        Raises:
            UserError: a prompt too long for the model, a server that cannot be used.
        """
        ...

    def close(self) -> None:
        """Free what is held."""
        ...
