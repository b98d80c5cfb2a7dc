"""Presets load, overrides apply, and mistakes become one line."""

import shlex
from itertools import pairwise

import pytest

from fgrpo_bench.config.load import differences, digest, load_preset, preset_names
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.grid import Cell, cells


@pytest.mark.parametrize("name", preset_names())
def test_every_shipped_preset_loads(name):
    assert load_preset(name)[0] == name


def test_maze_small_can_tell_the_methods_apart_and_is_11x11():
    config = load_preset("maze-small")[1]
    assert config.maze.size == 11
    assert config.train.minibatches >= 2
    assert config.evaluation.split == "heldout"


def test_overrides_are_read_as_toml_or_text():
    texts = ["train.steps=7", "evaluation.split=tuning", "evaluation.k=[1,2]", "base.train=true"]
    config = load_preset("maze-small", texts)[1]
    assert (config.train.steps, config.evaluation.split) == (7, "tuning")
    assert (config.evaluation.k, config.base.train) == ((1, 2), True)
    default = load_preset("maze-small")[1]
    assert differences(config, default) == {
        "base.train": True,
        "train.steps": 7,
        "evaluation.split": "tuning",
        "evaluation.k": [1, 2],
    }
    assert differences(default, default) == {}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.stepz=3", "no key of train is called 'stepz': did you mean 'steps'"),
        ("trian.steps=3", "no section is called 'trian': did you mean 'train'"),
        ("train.steps", "write section.key=value"),
        ("steps=3", "write section.key=value"),
        ("train.steps=0", "train.steps: Input should be greater than 0"),
        ("train.steps=many", "train.steps: Input should be a valid integer"),
        ("maze.size=7", "192 different mazes"),
        ("maze.size=10", "odd side"),
        ("maze.size=13", "longest path of this size needs 71"),
        ("train.minibatches=5", "must be a multiple of minibatches"),
        ("model.heads=5", "width must be a multiple of heads"),
        ("method.gamma=-1", "method.gamma: Input should be greater than or equal to 0"),
        ("method.gamma=nan", "method.gamma: Input should be"),
        ("evaluation.k=[4,1]", "rising order"),
        ("evaluation.k=[4,16]", "the first of them 1"),
        ("train.pool=70000", "train.pool (70000) exceeds maze.train_mazes (65536)"),
        ("method.success=running", "set train.pool below 19200"),
        (["method.success=running", "train.pool=1000"], "multiple of train.prompts (32)"),
        ("method.success=mean", "Input should be 'empirical', 'smoothed' or 'running'"),
        ("base.gate=[0.5,2]", "base.gate.1: Input should be less than or equal to 1"),
    ],
)
def test_a_wrong_override_is_one_helpful_line(override, message):
    with pytest.raises(UserError) as error:
        load_preset("maze-small", [override] if isinstance(override, str) else override)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_unreadable_presets(tmp_path):
    with pytest.raises(UserError, match="did you mean 'maze-small'"):
        load_preset("maze-smal")
    with pytest.raises(UserError, match=r"cannot read preset .*No such file"):
        load_preset(str(tmp_path / "none.toml"))
    bad = tmp_path / "bad.toml"
    bad.write_text("[maze\n")
    with pytest.raises(UserError, match="not valid TOML"):
        load_preset(str(bad))
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        load_preset(str(bad))
    bad.write_text("[maze]\nsize = 11\n")
    with pytest.raises(UserError, match="Field required"):
        load_preset(str(bad))
    bad.write_text("maze = 3\n")
    with pytest.raises(UserError, match="maze: Input should be"):
        load_preset(str(bad), ["maze.size=9"])
    bad.write_text("extra = 1\n")
    with pytest.raises(UserError, match=r"preset .*bad\.toml: "):
        load_preset(str(bad))


def test_grid_has_a_base_method_once_whatever_the_gammas():
    grid = cells("maze-small", ["grpo", "fgrpo"], [4, 8], [0.5, 1.0], [0, 1])
    assert [cell.name for cell in grid if cell.seed == 1 and cell.group_size == 4] == [
        "grpo-n4-g0-s1",
        "fgrpo-n4-g0.5-s1",
        "fgrpo-n4-g1-s1",
    ]
    assert len(grid) == len({cell.name for cell in grid}) == 12


def test_gamma_defaults_to_the_presets_and_overrides_show_as_a_hash():
    (plain,) = cells("maze-small", ["fgrpo"], [8])
    assert plain.name == "fgrpo-n8-g1-s0"
    (gamma,) = cells("maze-small", ["fgrpo"], [8], overrides=["method.gamma=0.5"])
    assert gamma.name == "fgrpo-n8-g0.5-s0"
    (rate,) = cells("maze-small", ["fgrpo"], [8], overrides=["train.learning_rate=3e-4"])
    assert rate.name == f"fgrpo-n8-g1-s0-{digest({'train.learning_rate': 3e-4})[:8]}"
    same = cells("maze-small", ["grpo"], [8], overrides=["train.weight_decay=0.01"])[0]
    assert same.name == "grpo-n8-g0-s0", "an override that changes nothing is no override"


def test_a_cell_survives_json_and_names_its_command():
    texts = ["evaluation.k=[1, 2]", "base.train=true", "evaluation.split=tuning"]
    (cell,) = cells("maze-small", ["fgrpo"], [8], [0.5], [3], texts)
    assert Cell.from_json(cell.to_json()) == cell
    assert cell.command == (
        "fgrpo-bench run --preset maze-small --method fgrpo --n 8 --gamma 0.5 --seed 3 "
        "--set base.train=true --set evaluation.split=tuning --set 'evaluation.k=[1,2]'"
    )
    again = shlex.split(cell.command)
    texts = [word for flag, word in pairwise(again) if flag == "--set"]
    assert cells("maze-small", ["fgrpo"], [8], [0.5], [3], texts) == [cell]


def test_gamma_is_written_in_full(micro_preset):
    names = [c.name for c in cells(str(micro_preset), ["fgrpo"], [8], [1 / 3, 0.3333333, 2])]
    assert names == [
        "fgrpo-n8-g0.3333333333333333-s0",
        "fgrpo-n8-g0.3333333-s0",
        "fgrpo-n8-g2-s0",
    ]


def test_the_command_of_a_file_preset_names_the_file(micro_preset):
    (cell,) = cells(str(micro_preset), ["grpo"], [8])
    assert cell.preset == "micro"
    assert " --preset micro.toml " in cell.command


@pytest.mark.parametrize("stem", ["...", "$x$", "a b", ".hidden", "maze-small"])
def test_a_preset_file_with_an_unsafe_name_is_refused(tmp_path, micro_preset, stem):
    path = tmp_path / f"{stem}.toml"
    path.write_text(micro_preset.read_text())
    with pytest.raises(UserError, match="folder"):
        load_preset(str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["fgrop"], [8]), "unknown method 'fgrop': did you mean 'fgrpo'"),
        ((["grpo"], [1]), "--n 1: a group needs at least 2 rollouts"),
        ((["fgrpo"], [8], [-0.5]), "--gamma -0.5: gamma must be 0 or more"),
        ((["fgrpo"], [8], [float("nan")]), "--gamma nan"),
        ((["fgrpo"], [8], [], [-1]), "--seed -1"),
        (([], [8]), "--method has no value"),
        ((["grpo"], []), "--n has no value"),
        ((["grpo"], [8], [], []), "--seed has no value"),
        ((["grpo"], [10**20]), "at most 1048576 rollouts"),
    ],
)
def test_a_wrong_grid_is_one_helpful_line(arguments, message):
    with pytest.raises(UserError, match=message):
        cells("maze-small", *arguments)
