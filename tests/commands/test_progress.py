"""Progress lines: what they show, and the time left."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fgrpo_bench.commands import progress
from fgrpo_bench.executor import Job

JOB = Job("fgrpo-n8-g1-s0", "cell", {}, Path())


def test_a_line_has_what_the_run_is_doing(capsys, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=100.0)
    monkeypatch.setattr(progress, "time", clock)
    show = progress.Progress(200).show
    show(JOB, {"event": "progress", "step": 0, "pass_at_k": {"1": 0.25, "16": 0.75, "32": 0.8}})
    clock.now = 119.9
    show(
        JOB,
        {
            "event": "progress", "step": 50, "reward": 0.5, "active": 0.25, "focal": 0.125,
            "clip_fraction": 0.00123, "loss": 1.0, "pass_at_k": {"1": 0.3, "16": 0.7, "32": 0.8},
        },
    )  # fmt: skip
    assert capsys.readouterr().err.splitlines() == [
        "fgrpo-n8-g1-s0  step 0/200  pass@1 0.250  pass@16 0.750",
        "fgrpo-n8-g1-s0  step 50/200  reward 0.500  active 0.250  focal 0.125  clip 0.0012  "
        "pass@1 0.300  pass@16 0.700  1:00 left",
    ]


@pytest.mark.parametrize(("at_most", "text"), [(False, "0:30 left"), (True, "0:30 left at most")])
def test_a_bounded_job_says_so(at_most, text, capsys, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=0.0)
    monkeypatch.setattr(progress, "time", clock)
    show = progress.Progress(40, at_most).show
    for step in (0, 10, 40):
        clock.now = float(step)
        show(JOB, {"event": "progress", "step": step, "pass_at_k": {"1": 0.1}})
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].endswith(text)
    assert lines[2].endswith("done")
