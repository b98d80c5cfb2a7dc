"""From a task's name to its problems: rows and prompts as plain lm-eval would make them."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fgrpo_bench.benchmarks.benchmark import Benchmark
from fgrpo_bench.benchmarks.problems import Problem, Prompt, Task
from fgrpo_bench.benchmarks.registry import BENCHMARKS, task_names, tasks_folder
from fgrpo_bench.benchmarks.rows import check_rows, hash_file, hash_rows, read_file, read_hub
from fgrpo_bench.errors import UserError, quoted, shown, suggestion


def load_task(name: str, data: Path | None = None, family: str | None = None) -> Task:
    """Read a task's rows and build its prompts.

    Args:
        name: of the task, no group.
        data: a .jsonl or .parquet file in the columns of the hub's data set, instead of that.
        family: of the model, such as ``qwen3``: the task's variant for it is taken if there is
            one, ``NAME_FAMILY``.

    Raises:
        UserError: no such task, or rows that cannot be had or used.
    """
    names = task_names()
    if name not in names:
        raise UserError(f"no task {quoted(name)}: {suggestion(name, names)}")
    if f"{name}_{family}" in names:
        name = f"{name}_{family}"
    benchmark = BENCHMARKS[names[name]]
    with _quiet():
        return _load(name, benchmark, data)


def _load(name: str, benchmark: Benchmark, data: Path | None) -> Task:
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False)
    config: dict[str, Any] = manager.task_index[name].cfg or {}
    replaced: dict[str, Any] = {"task": name}
    if data is not None or benchmark.hub is not None:
        rows = read_file(data) if data is not None else read_hub(benchmark.name, config)
        place = shown(data) if data is not None else config["dataset_path"]
        check_rows(benchmark, rows, place)
        replaced["custom_dataset"] = lambda **_: {config["test_split"]: rows}
    # within a group a file's settings can be replaced one by one; alone, the others would be lost
    task = manager.load({"group": "fgrpo_bench", "task": [replaced]})["tasks"][name]
    settings, docs = task.config.generation_kwargs, task.eval_docs
    return Task(
        name=name,
        benchmark=benchmark.name,
        problems=tuple(_problems(task, benchmark, docs)),
        stop=tuple(settings["until"]),
        max_tokens=settings["max_gen_toks"],
        template=dict(task.config.metadata.get("chat_template", {})),
        source=_source(benchmark, config, docs, data),
    )


def _problems(task: Any, benchmark: Benchmark, docs: Any) -> Iterator[Problem]:
    for index, doc in enumerate(docs):
        problem = benchmark.problem_id(doc, index)
        yield Problem(problem, _prompt(task, benchmark, doc), doc, benchmark.stratum(doc))


def _prompt(task: Any, benchmark: Benchmark, doc: dict[str, Any]) -> Prompt:
    """Return what lm-eval would send: for a chat, the messages it would put into the template."""
    chat = benchmark.style == "chat"
    text = task.fewshot_context(
        doc,
        num_fewshot=0,
        apply_chat_template=chat,
        fewshot_as_multiturn=chat,
        chat_template=_as_json if chat else None,
    )
    return tuple(json.loads(text)) if chat else str(text)


def _as_json(messages: list[dict[str, str]], add_generation_prompt: bool) -> str:
    return json.dumps(messages)


def _source(
    benchmark: Benchmark, config: dict[str, Any], rows: Any, data: Path | None
) -> dict[str, Any]:
    """Say where the rows came from: no folders and no texts, for the manifest."""
    here: dict[str, Any]
    if data is not None:
        here = {"file": data.name, "file_sha256": hash_file(data)}
    elif benchmark.hub is not None:
        here = {
            "data_set": config["dataset_path"],
            "config": config.get("dataset_name"),
            "split": config["test_split"],
            "revision": config["dataset_kwargs"]["revision"],
        }
    else:
        here = {"data_set": benchmark.name}
    counts = {"rows": len(rows), "expected_rows": benchmark.rows}
    return {**here, **counts, "rows_sha256": hash_rows(benchmark, rows)}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep off stderr what libraries say of themselves and their retries; errors are raised."""
    loggers = [logging.getLogger(name) for name in ("lm_eval", "datasets", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
