"""Names, arguments, identities and the errors of wrong ones."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants
import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines import checkpoint
from fgrpo_bench.sampling.engines.make import make_engine
from fgrpo_bench.sampling.engines.options import literals


@pytest.mark.parametrize(
    ("name", "url", "arguments", "message"),
    [
        ("hff", None, {}, "there is no such engine: did you mean 'hf'?"),
        ("lm-eval:", None, {}, "did you mean 'lm-eval:NAME'"),
        ("tgi", None, {}, "choose from hf, vllm, openai, lm-eval:NAME"),
        ("hf", "http://x/v1", {}, "--base-url is for --engine openai, not for hf"),
        ("openai", None, {}, "needs --base-url"),
        ("hf", None, {"batchsize": "3"}, "hf has no such one: did you mean 'batch_size'?"),
        (
            "hf",
            None,
            {"batch_size": "0"},
            "--engine-arg batch_size=0: Input should be greater than 0",
        ),
        ("hf", None, {"batch_size": "many"}, "batch_size=many: Input should be a valid integer"),
        ("hf", None, {"dtype": "int4"}, "dtype=int4: Input should be 'auto'"),
        ("openai", "http://x/v1", {"n_per_reqest": "1"}, "did you mean 'n_per_request'?"),
        ("hf", None, {"device": "warp"}, "device=warp"),
    ],
)
def test_wrong_use_is_one_line(
    name: str, url: str | None, arguments: dict[str, str], message: str, llama: Path
) -> None:
    with pytest.raises(UserError) as raised:
        make_engine(name, str(llama), url, arguments)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_values_are_read_as_json() -> None:
    texts = {
        "a": "8",
        "b": "0.9",
        "c": "true",
        "d": "False",
        "e": "auto",
        "f": '{"x": [1]}',
        "g": "",
    }
    assert literals(texts) == {
        "a": 8, "b": 0.9, "c": True, "d": False, "e": "auto", "f": {"x": [1]}, "g": ""
    }  # fmt: skip


def test_nothing_heavy_is_imported_early() -> None:
    code = (
        "import sys; import fgrpo_bench.sampling.engines.make;"
        "print([m for m in ('torch', 'transformers', 'vllm', 'openai', 'lm_eval', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_identity_is_the_content_and_not_the_place(llama: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(llama, tmp_path / "elsewhere" / llama.name)
    one, other = (
        make_engine("hf", str(at), None, {"batch_size": size})
        for at, size in ((llama, "2"), (copy, "3"))
    )
    assert one.identity == other.identity
    assert one.identity["model"] == "tiny-llama"
    assert str(tmp_path) not in json.dumps(other.identity)
    assert one.family == "llama"
    (copy / "optimizer.pt").write_bytes(b"not what it says")
    (copy / "README.md").write_text("card")
    assert checkpoint.content_hash(copy) == one.identity["sha256"]
    renamed = shutil.copytree(llama, tmp_path / "renamed")
    (renamed / "chat_template.jinja").rename(renamed / "b.jinja")  # sorts the same
    assert checkpoint.content_hash(renamed) != one.identity["sha256"]
    for name in ("tokenizer_config.json", "config.json", "model.safetensors"):
        changed = shutil.copytree(llama, tmp_path / name)
        with (changed / name).open("ab") as file:
            file.write(b" ")
        assert checkpoint.content_hash(changed) != one.identity["sha256"]


def test_families(qwen: Path) -> None:
    assert make_engine("hf", str(qwen), None, {}).family == "qwen2.5"


def test_folders_that_are_no_checkpoint(llama: Path, tmp_path: Path) -> None:
    def refuses(model: Path | str, message: str) -> None:
        with pytest.raises(UserError, match=message) as raised:
            make_engine("hf", str(model), None, {})
        assert "\n" not in str(raised.value)

    refuses(tmp_path / "none", "there is no such folder")
    refuses("./runs/none", "there is no such folder")
    refuses(tmp_path, "no checkpoint: there is no config.json")
    (tmp_path / "adapter_config.json").write_text("{}")
    refuses(tmp_path, "an adapter: merge it")
    pickled = shutil.copytree(llama, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    refuses(pickled, "pickled weights are not read")
    torn = shutil.copytree(llama, tmp_path / "torn")
    (torn / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{]")
    refuses(torn, "torn cannot be loaded")
    bare = shutil.copytree(llama, tmp_path / "bare")
    (bare / "config.json").write_text("{}")
    refuses(bare, "bare cannot be loaded")


@pytest.mark.parametrize("model", ["nobody/nothing-7b", "nothing"])
def test_the_hub_out_of_reach_is_one_line(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        UserError, match=r"of the hub cannot be loaded .* or give a folder"
    ) as raised:
        make_engine("hf", model, None, {})
    assert "\n" not in str(raised.value)
