"""Graders that do what text may drive real ones to; ``gold`` says what."""

import contextlib
import json
import os
import sys
import time
from collections import deque
from itertools import repeat
from pathlib import Path


def meets(gold: str, answer: str) -> tuple[bool, str | None]:
    return DEEDS[gold](answer)


def equal(answer):
    return answer == "right", None


def echo(answer):
    return True, answer


def fingerprint(answer):
    return len(answer) % 2 == 0, f"{len(answer)}:{sum(map(ord, answer))}"


def spin(answer):
    while True:
        pass


def power(answer):
    return 3 ** (10**9) > 0, None  # one call, which looks for signals now and then


def drain(answer):
    deque(repeat(0), maxlen=0)  # one call that does not even look for signals


def hang(answer):
    with open(answer, "a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(600)


def sleep(answer):
    time.sleep(float(answer))
    return True, None


def hoard(answer):
    rows = []
    while True:
        rows.append(bytearray(16 << 20))


def leave(answer):
    os._exit(int(answer))


def stop(answer):
    sys.exit(3)


def leave_once(answer):
    """End the first worker that is asked, and no other one."""
    try:
        Path(answer).touch(exist_ok=False)
    except FileExistsError:
        return True, None
    os._exit(7)


def swallow(answer):
    try:
        spin(answer)
    except Exception:
        return True, None


def swallow_once(answer):
    try:
        spin(answer)
    except BaseException:
        return True, None


def swallow_all(answer):
    while True:
        with contextlib.suppress(BaseException):
            spin(answer)


def chatter(answer):
    print('["done", true, null, "", 0]\n\ud800')
    sys.stdout.flush()
    os.write(1, b'["done", false, "torn')
    sys.stderr.write("words\n")
    return sys.stdin.read() == "", None


def recurse(answer):
    return recurse(answer)


def fail(answer):
    raise ValueError("two\nlines " + answer)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


def fail_unprintably(answer):
    raise Unprintable


def where(answer):
    """Tell who works here, under what circumstances."""
    names = ("OMP_NUM_THREADS", "PYTHONHASHSEED")
    return True, json.dumps([os.getpid(), os.getppid(), *(os.environ[name] for name in names)])


def grow(answer):
    HELD.append(bytearray(b"x" * (int(answer) << 20)))
    return True, str(os.getpid())


HELD: list[bytearray] = []
DEEDS = {
    deed.__name__: deed
    for deed in (
        equal, echo, fingerprint, spin, power, drain, hang, sleep, hoard, leave, stop, leave_once,
        swallow, swallow_once, swallow_all, chatter, recurse, fail, fail_unprintably, where, grow,
    )
}  # fmt: skip
