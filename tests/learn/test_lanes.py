"""Work in forked processes: what crashes or hangs loses itself alone."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable

from graph_net.isolate.tree import children_of
from graph_net.learn.lanes import Batch, Limits, Lost, each


def _crash() -> None:
    faulthandler.disable()  # pytest's, which would tell of it
    os.kill(os.getpid(), signal.SIGSEGV)


def _work(piece: str) -> bytes:
    if piece == "crash":
        _crash()
    if piece == "hang":
        time.sleep(60)
    if piece == "error":
        raise ValueError("no good")
    if piece == "memory":
        return bytes(1 << 40)
    return piece.upper().encode() * 1000


def _found(*batches: Batch, limits: Limits | None = None) -> dict[tuple[str, str], bytes | Lost]:
    return {(name, piece): answer for name, piece, answer in each(batches, limits or Limits())}


def _batch(name: str, *pieces: str, prepare: Callable[[], object] | None = None) -> Batch:
    return Batch(name, prepare or (lambda: _work), pieces)  # type: ignore[arg-type]


def test_every_piece_has_its_answer() -> None:
    found = _found(_batch("one", "a", "b"), _batch("none"), _batch("two", "c"))
    assert found == {
        ("one", "a"): b"A" * 1000,
        ("one", "b"): b"B" * 1000,
        ("two", "c"): b"C" * 1000,
    }


def test_what_goes_wrong_loses_itself_alone() -> None:
    pieces = ("a", "crash", "b", "hang", "error", "memory", "c")
    found = _found(_batch("t", *pieces), limits=Limits(1, 16.0, 2))
    assert {piece for _, piece in found} == set(pieces)
    lost = {piece: answer for (_, piece), answer in found.items() if isinstance(answer, Lost)}
    assert lost["crash"].reason == "died of signal 11"
    assert lost["hang"].reason == "no answer within 1 s"
    assert lost["error"].reason == "ValueError: no good"
    assert lost["memory"].reason.startswith("MemoryError")
    assert len(lost) == 4


def test_a_preparation_that_fails_loses_its_batch() -> None:
    def prepare() -> object:
        raise RuntimeError("no module")

    found = _found(_batch("bad", "a", "b", prepare=prepare), _batch("good", "a"))
    assert found[("bad", "a")] == found[("bad", "b")] == Lost("RuntimeError: no module")
    assert found[("good", "a")] == b"A" * 1000


def test_a_preparation_that_crashes_loses_its_batch() -> None:
    found = _found(_batch("bad", "a", "b", prepare=_crash), _batch("good", "a"))
    assert found[("bad", "a")] == found[("bad", "b")] == Lost("died of signal 11")
    assert found[("good", "a")] == b"A" * 1000


def test_an_interrupt_ends_the_run_and_loses_nothing() -> None:
    def work(piece: str) -> bytes:
        if piece == "long":
            time.sleep(600)
        return piece.encode()

    seen: list[object] = []
    ready, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = 1
        try:
            for _, _, answer in each([Batch("t", lambda: work, ("a", "long"))], Limits(600)):
                seen.append(answer)
                os.write(tells, b"a")
        except KeyboardInterrupt:
            code = 2 if any(isinstance(answer, Lost) for answer in seen) else 0
        finally:
            os._exit(code)
    os.read(ready, 1)
    os.killpg(child, signal.SIGINT)  # as a terminal does
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_leaving_early_leaves_no_process() -> None:
    before = set(children_of(os.getpid()))
    asked = each([_batch("t", "a", "hang")], Limits())
    next(asked)
    assert set(children_of(os.getpid())) > before
    asked.close()  # type: ignore[attr-defined]
    assert set(children_of(os.getpid())) == before
