"""What hosts ask: dialogs one at a time, answers that go to the engine and stay nowhere else."""

import gc
import logging
from collections.abc import Callable
from typing import Any

import pytest
from textual.widgets import Input

from netbench_tui.engine import events
from netbench_tui.model.host import Role
from netbench_tui.model.question import Prompt, Question, QuestionKind
from netbench_tui.tui.app import WorkbenchApp
from netbench_tui.tui.screens.questions import QuestionScreen
from netbench_tui.tui.widgets.secret import SecretInput

CANARY = "c4n4ry-of-the-mine"
FINGERPRINT = "ssh-ed25519 SHA256:uNiVztksCsDhcc0u9e8BgrJXVGwvB5UBFWq2IYxkQpA"
PASSWORD = Question(Role.RECEIVER, "beta", QuestionKind.PASSWORD, "beta wants a password", (Prompt("Password: "),))
HOST_KEY = Question(
    Role.SENDER,
    "alpha",
    QuestionKind.HOST_KEY,
    "no known_hosts file holds this key",
    detail=f"[b]new[/b]\n{FINGERPRINT}",
)
TWO = Question(
    Role.RECEIVER,
    "beta",
    QuestionKind.PROMPTS,
    "beta asks",
    (Prompt("Password: "), Prompt("Code: ", echo=True)),
    "Welcome to [red]rack 3\x1b[31m",
)


def shows(fake: Any, pilot: Any, *words: str) -> Callable[[], bool]:
    return lambda: all(word in fake.screen_text(pilot.app) for word in words)


async def ask(fake: Any, pilot: Any, engine: Any, number: int, question: Question) -> None:
    """Has the engine ask, and waits until a dialog has the keyboard."""
    await fake.until(pilot, shows(fake, pilot, "? help"))
    await fake.until(pilot, lambda: pilot.app.bench.presets)
    engine.deliver(events.Asked(number, question))
    await fake.until(pilot, lambda: isinstance(pilot.app.screen, QuestionScreen) and pilot.app.screen.is_mounted)
    await fake.until(pilot, shows(fake, pilot, question.title))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_password_is_masked_and_answered(fake: Any, size: tuple[int, int]) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=size) as pilot:
        await ask(fake, pilot, engine, 4, PASSWORD)
        await fake.until(pilot, shows(fake, pilot, "▼ beta", "password", "Password:", "enter answer"))
        await pilot.press(*"sesame")
        await fake.until(pilot, shows(fake, pilot, "••••••"))
        assert "sesame" not in fake.screen_text(app)
        await pilot.press("enter")
        await fake.until(pilot, lambda: engine.answers == [(4, ("sesame",))])
        await fake.until(pilot, lambda: len(app.screen_stack) == 1)


async def test_enter_goes_on_and_the_last_field_answers(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(fake, pilot, engine, 1, TWO)
        await fake.until(pilot, shows(fake, pilot, "Welcome to [red]rack 3?[31m", "Password:", "Code:"))
        await pilot.press(*"abc", "enter", *"123")
        await fake.until(pilot, shows(fake, pilot, "•••", "123"))
        assert engine.answers == []
        await pilot.press("enter")
        await fake.until(pilot, lambda: engine.answers == [(1, ("abc", "123"))])


async def test_escape_declines(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(fake, pilot, engine, 1, PASSWORD)
        await pilot.press(*"abc", "escape")
        await fake.until(pilot, lambda: engine.answers == [(1, None)])
        await fake.until(pilot, lambda: len(app.screen_stack) == 1)


@pytest.mark.parametrize(("key", "answer"), [("y", ()), ("n", None), ("escape", None)])
async def test_a_host_key_is_trusted_by_y_alone(fake: Any, key: str, answer: tuple[str, ...] | None) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await ask(fake, pilot, engine, 2, HOST_KEY)
        await fake.until(
            pilot, shows(fake, pilot, "▲ alpha", "host key", FINGERPRINT, "[b]new[/b]", "y it is this host")
        )
        rows = [strip for strip in app.screen._compositor.render_strips() if FINGERPRINT in strip.text]
        styles = {segment.style.bold for segment in rows[0] if segment.style and FINGERPRINT in segment.text}
        assert styles == {True}
        await pilot.press("enter", "space")
        assert engine.answers == []
        await pilot.press(key)
        await fake.until(pilot, lambda: engine.answers == [(2, answer)])


async def test_questions_of_both_hosts_wait_for_each_other(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(fake, pilot, engine, 1, HOST_KEY)
        engine.deliver(events.Asked(2, PASSWORD))
        engine.deliver(events.Asked(3, TWO))
        await fake.until(pilot, shows(fake, pilot, "2 more after this", FINGERPRINT))
        await pilot.press("y")
        await fake.until(pilot, shows(fake, pilot, "beta wants a password", "1 more after this"))
        engine.deliver(events.QuestionOver(3))
        await fake.until(pilot, lambda: "more after this" not in fake.screen_text(app))
        await pilot.press("x", "enter")
        await fake.until(pilot, lambda: engine.answers == [(1, ()), (2, ("x",))])
        await fake.until(pilot, lambda: len(app.screen_stack) == 1)


async def test_a_question_that_is_over_goes_and_leaves_other_overlays(fake: Any) -> None:
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await fake.until(pilot, shows(fake, pilot, "? help"))
        await pilot.press("f1")
        await fake.until(pilot, shows(fake, pilot, "esc close"))
        await ask(fake, pilot, engine, 1, PASSWORD)
        await pilot.press(*"abc")
        field = app.screen.query_one(SecretInput)
        engine.deliver(events.QuestionOver(1))
        await fake.until(pilot, lambda: not isinstance(app.screen, QuestionScreen))
        assert engine.answers == []
        assert field.value == ""
        await fake.until(pilot, shows(fake, pilot, "esc close"))


async def test_no_secret_stays(fake: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    """After the answer the text stands in no message, no log, no clipboard, no widget and no crash report."""
    caplog.set_level(logging.DEBUG)
    engine = fake.FakeEngine()
    app = WorkbenchApp(engine)
    changed: list[str] = []
    async with app.run_test(
        size=(80, 24),
        message_hook=lambda message: changed.extend([repr(message)] if "Changed" in repr(message) else []),
    ) as pilot:
        await ask(fake, pilot, engine, 1, PASSWORD)
        field = app.screen.query_one(SecretInput)
        await pilot.press(*CANARY, "ctrl+a", "ctrl+c", "ctrl+x", "end")
        await fake.until(pilot, lambda: field.value == CANARY)
        logged: list[object] = []
        original = type(app).__mro__[2]._log
        type(app).__mro__[2]._log = lambda self, *details, **named: logged.append(details)  # type: ignore[method-assign]
        try:
            app.log("anything")
            assert app.hushed
            assert logged == []
        finally:
            type(app).__mro__[2]._log = original  # type: ignore[method-assign]
        await pilot.press("enter")
        await fake.until(pilot, lambda: engine.answers == [(1, (CANARY,))])
        await fake.until(pilot, lambda: len(app.screen_stack) == 1)
        assert field.value == ""
        assert CANARY not in app.clipboard
    assert not [text for text in changed if CANARY in text]
    engine.answers.clear()
    gc.collect()
    held = [o for o in gc.get_objects() if isinstance(o, (Input, QuestionScreen)) and CANARY in repr(vars(o))]
    assert held == []
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capsys.readouterr())


def test_a_crash_report_shows_no_variables(fake: Any) -> None:
    app = WorkbenchApp(fake.FakeEngine())
    try:
        secret = CANARY
        raise RuntimeError("the screen broke")
    except RuntimeError:
        app.bell = lambda: None  # type: ignore[method-assign]
        app._fatal_error()
        del secret
    report = "".join(segment.text for renderable in app._exit_renderables for segment in renderable.segments)  # type: ignore[union-attr]
    assert "the screen broke" in report
    assert "secret" in report, "the line of code is there"
    assert report.count(CANARY) == 0
