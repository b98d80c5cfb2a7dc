"""The resolved configuration of an experiment: frozen, typed, and nothing undeclared allowed."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

Probability = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class MazeSection(Section):
    """The mazes. Training, tuning and held-out sets belong to the preset and share no maze.

    Reward ``exact`` accepts the one answer, moves and DONE; ``reach`` every walk that stays off
    the walls and comes to the goal, whatever follows (arXiv 2602.02710's judge).
    """

    size: int
    reward: Literal["exact", "reach"] = "exact"
    train_mazes: PositiveInt
    evaluation_mazes: PositiveInt
    data_seed: int
    max_answer_tokens: PositiveInt

    @model_validator(mode="after")
    def _check(self) -> "MazeSection":
        if self.size % 2 == 0 or self.size < 7:
            raise ValueError(f"size is {self.size}; a maze has an odd side of at least 9")
        if self.size == 7:
            raise ValueError(
                "size 7 has only 192 different mazes, so none can be held out; use 9 or more"
            )
        if self.size == 9 and 4 * self.evaluation_mazes > 100_352:
            raise ValueError("size 9 has only 100352 different mazes; lower evaluation_mazes")
        return self


class ModelSection(Section):
    """The policy network."""

    width: PositiveInt
    layers: PositiveInt
    heads: PositiveInt
    kv_heads: PositiveInt
    ffn: PositiveInt
    positions: Literal["learned", "rope"]
    qkv_bias: bool = False

    @model_validator(mode="after")
    def _check(self) -> "ModelSection":
        if self.width % self.heads or self.heads % self.kv_heads:
            raise ValueError("width must be a multiple of heads, and heads of kv_heads")
        if self.positions == "rope" and self.width // self.heads % 2:
            raise ValueError("rope needs an even width per head")
        return self


class BaseSection(Section):
    """Supervised training of the base, and whether to do it or take the shipped checkpoint.

    It ends when pass@1 on the tuning mazes reaches ``target``, or after ``steps``: ability rises
    so steeply that the same number of steps gives quite different bases on different machines.
    ``schedule`` is the learning rate's course after the warm-up; ``cosine`` ends at 0 with
    ``steps``.
    """

    train: bool = False
    steps: PositiveInt
    batch: PositiveInt
    learning_rate: PositiveFloat
    warmup: PositiveInt
    schedule: Literal["constant", "cosine"] = "constant"
    seed: int = 0
    target: Probability = 1.0
    gate: tuple[Probability, Probability]


class TrainSection(Section):
    """The RL run: each step samples ``prompts`` groups and splits them over ``minibatches``.

    Prompts are the first ``pool`` training mazes (all if not set), cycled in shuffled epochs.
    ``entropy`` and ``kl`` are the coefficients of an entropy bonus and of a KL penalty to the base.
    ``device`` ``auto`` takes a CUDA GPU where there is one, for base and policy; models of a
    laptop's size are faster on a core.
    """

    steps: PositiveInt
    prompts: PositiveInt
    minibatches: PositiveInt
    pool: PositiveInt | None = None
    learning_rate: PositiveFloat
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    max_grad_norm: PositiveFloat = 1.0
    entropy: Annotated[float, Field(ge=0)] = 0.0
    kl: Annotated[float, Field(ge=0)] = 0.0
    device: Literal["cpu", "auto"] = "cpu"

    @model_validator(mode="after")
    def _check(self) -> "TrainSection":
        if self.prompts % self.minibatches:
            raise ValueError(
                f"prompts ({self.prompts}) must be a multiple of minibatches ({self.minibatches})"
            )
        return self


class MethodSection(Section):
    """The gamma of methods with focal weighting, and conventions that trainers differ in.

    ``success`` estimates the rate behind the focal weight: ``empirical`` X / N as in the paper,
    ``smoothed`` (X + a) / (N + 2 a) with ``smoothing`` a, or ``running``, the mean of this and the
    last ``window`` visits of the prompt. The others are parameters of single methods: ``k`` of pkpo
    and passk, ``correct_weight`` of w_reinforce, ``rank_penalty`` of unlikeliness, ``ds_correct``
    and ``ds_wrong`` of ds_grpo.
    """

    gamma: Annotated[float, Field(ge=0)]
    std: Literal["sample", "population"] = "sample"
    epsilon: PositiveFloat = 1e-4
    success: Literal["empirical", "smoothed", "running"] = "empirical"
    smoothing: PositiveFloat = 0.5
    window: PositiveInt = 4
    k: PositiveInt = 4
    correct_weight: Annotated[float, Field(ge=0)] = 0.1
    rank_penalty: Probability = 0.25
    ds_correct: Annotated[float, Field(ge=0)] = 0.05
    ds_wrong: Annotated[float, Field(ge=0)] = 0.05


class EvaluationSection(Section):
    """When and on what to evaluate, by ``samples`` samples per maze.

    With reward ``exact`` the success probability itself is known, and samples are an extra.
    """

    split: Literal["heldout", "tuning"] = "heldout"
    every: PositiveInt
    k: tuple[PositiveInt, ...]
    samples: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _check(self) -> "EvaluationSection":
        if list(self.k) != sorted({1, *self.k}):
            raise ValueError("k must be different numbers in rising order, the first of them 1")
        return self


class MazeConfig(Section):
    """Everything that decides a maze experiment's numbers, but for method, N, gamma and seed."""

    maze: MazeSection
    model: ModelSection
    base: BaseSection
    train: TrainSection
    method: MethodSection
    evaluation: EvaluationSection

    @model_validator(mode="after")
    def _check(self) -> "MazeConfig":
        pool, visited = (
            self.train.pool or self.maze.train_mazes,
            self.train.steps * self.train.prompts,
        )
        if pool > self.maze.train_mazes:
            raise ValueError(
                f"train.pool ({pool}) exceeds maze.train_mazes ({self.maze.train_mazes})"
            )
        if self.maze.reward == "reach" and self.evaluation.samples < self.evaluation.k[-1]:
            raise ValueError(
                "maze.reward=reach has no exact success, so it is sampled: set evaluation.samples "
                f"to at least {self.evaluation.k[-1]}, the largest k"
            )
        running = self.method.success == "running"
        if running and visited <= pool:
            raise ValueError(
                "method.success=running needs prompts that come back, and here none does: "
                f"set train.pool below {visited}"
            )
        if running and pool % self.train.prompts:
            raise ValueError(
                f"method.success=running needs a train.pool that is a multiple of train.prompts "
                f"({self.train.prompts}), so that no step visits a prompt twice; it is {pool}"
            )
        cells = ((self.maze.size - 1) // 2) ** 2
        if self.maze.max_answer_tokens < 2 * (cells - 1) + 1:
            raise ValueError(
                f"maze.max_answer_tokens is {self.maze.max_answer_tokens}; the longest path of "
                f"this size needs {2 * (cells - 1) + 1}"
            )
        return self
