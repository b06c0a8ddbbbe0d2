"""A thread with its own event loop, and the faces that listen to it. The base of Engine.

A terminal that does not read must not stop a measurement (DESIGN 2), so the faces live in other threads.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from netbench_tui.engine import events
from netbench_tui.errors import UsageError

# For what did not end in its time, and will hardly end now.
CANCEL_SECONDS = 2.0

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Worker:
    """`start` it before use. `subscribe` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._faces: list[Callable[[events.Event], None]] = []
        self._closed = False

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(_cancel_all())
            self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if self._closed:
            work.close()
            refused: Future[T] = Future()
            refused.set_exception(UsageError("the workbench is closing"))
            return refused
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def subscribe(self, deliver: Callable[[events.Event], None]) -> Callable[[], None]:
        """`deliver` is called in the engine's thread and must not block. Returns what ends the subscription."""
        self._faces.append(deliver)
        return lambda: self._faces.remove(deliver)

    def _emit(self, event: events.Event) -> None:
        for face in list(self._faces):
            try:
                face(event)
            except Exception:
                _log.exception("a face failed on %s", type(event).__name__)


async def _cancel_all() -> None:
    """Whoever still waits for an answer gets one: that it was cancelled."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=CANCEL_SECONDS)
