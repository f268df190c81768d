"""The harness itself: every kind of end is told apart, and the campaign outlives each."""

import os
import time

import pytest
from campaign import Wrong, run
from damage import damage

from pnde.errors import DataError, PndeError

ENDS = ("ok", "sentence", "traceback", "hang", "wrong", "crash", "long", "memory", "ok")


class Long(PndeError):
    def __str__(self):
        return 301 * "x"


def every_end(seed):
    end = ENDS[seed]
    if end == "sentence":
        raise DataError("line 3 is not a number")
    if end == "traceback":
        raise KeyError("u")
    if end == "hang":
        time.sleep(60)
    if end == "wrong":
        raise Wrong("1 is not 2")
    if end == "crash":
        os._exit(11)
    if end == "long":
        raise Long
    if end == "memory":
        bytearray(1 << 40)


def test_every_end_is_told_apart():
    report = run(every_end, len(ENDS), seconds=1.0, memory=1 << 30)
    kinds = [outcome.kind for outcome in report.outcomes]
    assert kinds == [
        *(
            "ok",
            "sentence",
            "traceback",
            "hang",
            "wrong",
            "traceback",
            "traceback",
            "traceback",
            "ok",
        )
    ]
    assert report.counts == {
        kind: kinds.count(kind) for kind in ("ok", "sentence", "traceback", "hang", "wrong")
    }
    with pytest.raises(AssertionError, match="seed 2: traceback"):
        report.assert_clean()


def test_damage_is_the_same_for_the_same_seed():
    import numpy as np

    whole = b"time,x\n" + b"".join(b"%d,1.5\n" % k for k in range(50))
    one, two = (
        [damage(whole, np.random.default_rng(seed)) for seed in range(50)] for _ in range(2)
    )
    assert one == two
    assert sum(part != whole for part in one) > 40
