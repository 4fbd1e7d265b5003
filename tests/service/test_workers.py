import asyncio
import threading
from functools import partial

import pytest

from driftpace.service.errors import ApiError
from driftpace.service.workers import WorkerPool
from tests.reference.run_async import run_async


def test_threads_and_queue_are_bounded() -> None:
    async def main() -> tuple[int, list[int], int]:
        pool = WorkerPool("fitting", threads=2, queue=3)
        go, most, now = threading.Event(), 0, 0
        lock = threading.Lock()

        def work(number: int) -> int:
            nonlocal most, now
            with lock:
                now += 1
                most = max(most, now)
            go.wait(30.0)
            with lock:
                now -= 1
            return number

        tasks = [asyncio.create_task(pool.run(work, number)) for number in range(5)]
        async with asyncio.timeout(30.0):
            while pool.active < 5 or now < 2:
                await asyncio.sleep(0.001)
        with pytest.raises(ApiError) as refused:
            await pool.run(work, 6)
        assert refused.value.headers is not None
        assert "Retry-After" in refused.value.headers
        go.set()
        done = await asyncio.gather(*tasks)
        assert pool.active == 0
        return most, list(done), refused.value.status_code

    most, done, status = run_async(main())
    assert (most, done, status) == (2, [0, 1, 2, 3, 4], 503)


def test_errors_release_their_slot() -> None:
    async def main() -> int:
        pool = WorkerPool("reading", threads=1, queue=1)

        def broken() -> None:
            raise ValueError("no")

        for _ in range(5):
            with pytest.raises(ValueError, match="no"):
                await pool.run(broken)
        return pool.active

    assert run_async(main()) == 0


def test_cancelled_calls_keep_their_slot_while_running() -> None:
    async def main() -> list[int]:
        pool = WorkerPool("reading", threads=1, queue=1)
        inside, go = threading.Event(), threading.Event()
        done: list[int] = []

        def work(number: int) -> None:
            inside.set()
            assert go.wait(30.0)
            done.append(number)

        first = asyncio.create_task(pool.run(work, 1))
        second = asyncio.create_task(pool.run(work, 2))
        async with asyncio.timeout(30.0):
            while not inside.is_set():
                await asyncio.sleep(0.001)
            for task in (first, second):
                task.cancel()
            await asyncio.wait({first, second})
            assert first.cancelled()
            assert second.cancelled()
            while pool.active != 1:  # the second had not begun, and never does
                await asyncio.sleep(0.001)
            go.set()
            while pool.active:
                await asyncio.sleep(0.001)
            await pool.run(done.append, 3)
        return done

    assert run_async(main()) == [1, 3]


def test_calls_of_one_name_run_in_the_order_of_arrival() -> None:
    """One at a time for each name, first come, first served, while those of another name run beside them."""

    async def main() -> tuple[list[int], int, str]:
        pool = WorkerPool("fitting", threads=4, queue=100)
        go, inside, order, most, now = threading.Event(), threading.Event(), [], 0, 0

        def work(number: int) -> None:
            nonlocal most, now
            now += 1
            most = max(most, now)
            inside.set()
            assert go.wait(30.0)
            order.append(number)
            now -= 1

        tasks = []
        for number in range(20):
            tasks.append(asyncio.create_task(pool.run_in_turn("churn", partial(work, number))))
            await asyncio.sleep(0)
        other = await pool.run_in_turn("prices", lambda: "beside")
        assert inside.wait(30.0)
        go.set()
        await asyncio.gather(*tasks)
        assert pool.active == 0
        assert not pool._turns
        return order, most, other

    assert run_async(main()) == (list(range(20)), 1, "beside")


def test_a_cancelled_call_keeps_its_turn_while_running() -> None:
    async def main() -> list[str]:
        pool = WorkerPool("fitting", threads=4, queue=100)
        go, inside, done = threading.Event(), threading.Event(), []

        def first() -> None:
            inside.set()
            assert go.wait(30.0)
            done.append("first")

        running = asyncio.create_task(pool.run_in_turn("churn", first))
        await asyncio.to_thread(inside.wait, 30.0)
        waiting = asyncio.create_task(pool.run_in_turn("churn", lambda: done.append("never")))
        last = asyncio.create_task(pool.run_in_turn("churn", lambda: done.append("last")))
        await asyncio.sleep(0)
        running.cancel()
        waiting.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        assert (pool.active, done) == (2, [])
        go.set()
        await last
        assert pool.active == 0
        return done

    assert run_async(main()) == ["first", "last"]


def test_calls_that_wait_for_their_turn_count_as_queued() -> None:
    async def main() -> int:
        pool = WorkerPool("fitting", threads=1, queue=1)
        go = threading.Event()
        tasks = [asyncio.create_task(pool.run_in_turn("churn", lambda: go.wait(30.0))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await pool.run_in_turn("churn", lambda: True)
        go.set()
        await asyncio.gather(*tasks)
        return refused.value.status_code

    assert run_async(main()) == 503
