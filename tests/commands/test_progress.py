"""Progress lines: what they show, and the time left."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from fgrpo_bench.commands import progress

JOB = "fgrpo-n8-g1-s0"


def test_a_line_has_what_the_run_is_doing(capsys, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=100.0)
    monkeypatch.setattr(progress, "time", clock)
    show = progress.plain(200)
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
    show = progress.plain(40, at_most)
    for step in (0, 10, 40):
        clock.now = float(step)
        show(JOB, {"event": "progress", "step": step, "pass_at_k": {"1": 0.1}})
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].endswith(text)
    assert lines[2].endswith("done")


def test_a_terminal_gets_one_live_line_per_job():
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=120, color_system=None)
    other = "[red]odd"
    with progress.live(200, console) as show:
        show(JOB, {"event": "progress", "step": 50, "reward": 0.5, "pass_at_k": {"1": 0.25}})
        show(other, {"event": "progress", "step": 200, "pass_at_k": {"1": 0.75}})
    lines = out.getvalue().rpartition("fgrpo-n8-g1-s0")[2].splitlines()
    assert " 50/200" in lines[0]
    assert "pass@1 0.250 reward 0.500" in lines[0]
    assert "[red]odd" in lines[1]
    assert "200/200" in lines[1]


def test_plain_lines_where_there_is_no_terminal(capsys):
    with progress.progress(10) as show:
        show(JOB, {"event": "progress", "step": 10, "pass_at_k": {"1": 0.5}})
    assert capsys.readouterr().err == "fgrpo-n8-g1-s0  step 10/10  pass@1 0.500\n"
