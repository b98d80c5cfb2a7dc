"""The shipped bases: what their manifests say is true, and they can be made again."""

import numpy as np
import pytest

from fgrpo_bench.config.load import load_preset, preset_names
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.data import load_mazes
from fgrpo_bench.maze.evaluate import exact_success
from fgrpo_bench.maze.recipe import SHIPPED, recipe, require_base, trained_directory
from fgrpo_bench.maze.sft import epoch_index, load_base, train_base
from fgrpo_bench.stats.pass_at_k import exact_pass_at_k

SHIPPED_PRESETS = [name for name in preset_names() if not load_preset(name)[1].base.train]


def test_which_presets_ship_their_base():
    assert SHIPPED_PRESETS == ["maze-medium", "maze-small"]
    shipped = {item.name for item in SHIPPED.iterdir()}
    assert shipped == {
        f"{name}.{kind}" for name in SHIPPED_PRESETS for kind in ("json", "safetensors")
    }


@pytest.mark.parametrize("name", SHIPPED_PRESETS)
def test_the_shipped_base_is_what_its_manifest_says(name, tmp_path):
    config = load_preset(name)[1]
    base = load_base(config, tmp_path)
    assert base.manifest["recipe"] == recipe(config)
    assert base.complaint(config.base.gate) is None
    success = exact_success(base.model, load_mazes(config).tuning)
    assert success.mean() == pytest.approx(base.manifest["tuning_pass_at_1"], abs=1e-3)
    assert base.manifest["git"]["dirty"] is False


def test_a_base_outside_its_gate_complains(tmp_path):
    config = load_preset("maze-small")[1]
    base = load_base(config, tmp_path)
    assert "outside [0.4, 0.5]" in base.complaint((0.4, 0.5))


def test_another_recipe_needs_training_and_says_why():
    for text, reason in (
        ("model.width=32", "model.width is 32, shipped 64"),
        ("base.steps=10", "base.steps is 10"),
        ("maze.max_answer_tokens=50", "number of positions"),
    ):
        with pytest.raises(UserError, match=rf"{reason}.*base\.train=true"):
            require_base(load_preset("maze-small", [text])[1])
    with pytest.raises(UserError, match=r"base\.seed is 4, shipped 0"):  # of the nearest base
        require_base(load_preset("maze-medium", ["base.seed=4"])[1])
    require_base(load_preset("maze-small", ["model.width=32", "base.train=true"])[1])


def test_other_weights_than_the_manifests_are_refused(tmp_path):
    config = load_preset("maze-small", ["base.train=true"])[1]
    directory = trained_directory(tmp_path, config)
    directory.mkdir()
    name = "maze-small"
    (directory / "base.json").write_bytes((SHIPPED / f"{name}.json").read_bytes())
    weights = bytearray((SHIPPED / f"{name}.safetensors").read_bytes())
    weights[-1] ^= 1
    (directory / "base.safetensors").write_bytes(weights)
    with pytest.raises(UserError, match=r"is not what base\.json describes: delete"):
        load_base(config, tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_torn_manifest_of_a_base_is_named(tmp_path, text):
    config = load_preset("maze-small", ["base.train=true"])[1]
    directory = trained_directory(tmp_path, config)
    directory.mkdir()
    (directory / "base.json").write_text(text)
    with pytest.raises(UserError, match="delete"):
        load_base(config, tmp_path)


def test_epochs_show_every_maze_once_in_a_new_order():
    order = [int(i) for step in range(25) for i in epoch_index(50, 0, "test", step, 8)]
    epochs = [order[i : i + 50] for i in range(0, 200, 50)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert epoch_index(50, 0, "test", 3, 8).tolist() == order[24:32]
    assert epoch_index(50, 1, "test", 3, 8).tolist() != order[24:32]


@pytest.mark.slow
def test_a_base_made_anew_is_as_good_as_the_shipped_one(tmp_path):
    """Four minutes: floating point differs between machines, the ability must not."""
    config = load_preset("maze-small", ["base.train=true"])[1]
    lines = []
    train_base(config, trained_directory(tmp_path, config), lines.append)
    assert lines[-1]["pass_at_k"]["1"] >= config.base.target
    tuning = load_mazes(config).tuning
    shipped = load_base(load_preset("maze-small")[1], tmp_path)
    curves = [
        exact_pass_at_k(exact_success(base.model, tuning), [1, 16])
        for base in (shipped, load_base(config, tmp_path))
    ]
    np.testing.assert_allclose(curves[0], curves[1], atol=0.05)
