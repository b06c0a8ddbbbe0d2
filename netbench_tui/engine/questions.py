"""Questions of hosts on their way to a face, and the answers back. Used by engine.py; lives in its loop."""

import asyncio
import itertools
from collections.abc import Callable

from netbench_tui.engine import events
from netbench_tui.model.question import Answers, Question


class Questions:
    """One `ask` per question; it ends with the answer, with None, or with the cancellation of its asker."""

    def __init__(self, emit: Callable[[events.Event], None]) -> None:
        self._emit = emit
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Answers | None]] = {}

    async def ask(self, question: Question) -> Answers | None:
        number = next(self._numbers)
        future: asyncio.Future[Answers | None] = asyncio.get_running_loop().create_future()
        self._open[number] = future
        self._emit(events.Asked(number, question))
        try:
            return await future
        finally:
            del self._open[number]
            self._emit(events.QuestionOver(number))

    def answer(self, number: int, answers: Answers | None) -> None:
        """An answer to a question that is over is dropped."""
        future = self._open.get(number)
        if future and not future.done():
            future.set_result(answers)
