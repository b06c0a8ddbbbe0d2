"""The keys of Queues that stage changes, and the line in which they ask: the base of the area in queues.py.

Nothing is written here: what a plan comes to is staged, and why one cannot be made is said in place.
"""

from abc import abstractmethod
from collections.abc import Callable

from textual.widgets import Input

from netbench_tui.analysis import steering
from netbench_tui.errors import UsageError
from netbench_tui.model.change import Change
from netbench_tui.model.host import Role
from netbench_tui.tui.face import face
from netbench_tui.tui.screens import queues_plans as plans
from netbench_tui.tui.screens.queues_plans import Choice, Menu, Question
from netbench_tui.tui.screens.queues_views import View
from netbench_tui.tui.widgets.arranged import Area
from netbench_tui.tui.widgets.panel import Panel
from netbench_tui.tui.widgets.prompt import Prompt
from netbench_tui.tui.widgets.queue_data import RECEIVE, TRANSMIT
from netbench_tui.tui.widgets.queue_rows import QueueRows
from netbench_tui.tui.widgets.rows import RowList


class QueuesStaging(Area):
    """`role` is the host that the keys are for; `kinds` what is listed of each host."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.role = Role.RECEIVER
        self.kinds = {Role.SENDER: TRANSMIT, Role.RECEIVER: RECEIVE}
        self.view = View.RSS
        self.filter_text = ""
        self.filtering = False
        self.question: Question | None = None

    @property
    def typing(self) -> bool:
        return self.filtering or self.question is not None

    @property
    def rows(self) -> QueueRows:
        """The queues that keys are for."""
        return self.query_one(f"#queues-{self.role.value}", QueueRows)

    @abstractmethod
    def arrange_if_needed(self) -> None:
        """Lays out again if something else is to be shown than before."""

    # --- keys that stage -----------------------------------------------------------------------------------------

    def action_pin(self) -> None:
        self._ask(lambda: plans.ask_pin(self._state(), self.rows.current))

    def action_spread(self) -> None:
        self._ask(lambda: plans.ask_spread(self._state()))

    def action_weights(self) -> None:
        self._ask(lambda: plans.ask_weights(self._state()))

    def action_channels(self) -> None:
        self._ask(lambda: plans.ask_channels(self._state()))

    def action_spread_node(self) -> None:
        self._stage(lambda: steering.spread_on_node(self._state()))

    def action_steering(self) -> None:
        self._offer(lambda: plans.steering_menu(self._state(), self.kinds[self.role]))

    def action_flows(self) -> None:
        self._offer(lambda: plans.flows_menu(self._state()))

    def action_irqbalance(self) -> None:
        self._offer(lambda: plans.irqbalance_menu(self._state()))

    def _state(self) -> steering.NicState:
        return plans.nic_state(face(self).bench, self.role)

    def _stage(self, plan: Callable[[], list[Change]]) -> bool:
        """Stages what the plan comes to; says why where it cannot be made, and where nothing would change."""
        try:
            changes = plan()
        except UsageError as error:
            self._refuse(error)
            return False
        bench = face(self).bench
        before = len(bench.staged)
        face(self).stage(changes)
        places = {change.place for change in changes}
        none = not any(change.place in places for change in bench.staged) and len(bench.staged) == before
        self._say("nothing to stage: it is so already" if none else "")
        return True

    def _refuse(self, error: UsageError) -> None:
        self._say(f"{error.message}: {error.hint}" if error.hint else error.message, bad=True)

    def _offer(self, make: Callable[[], Menu]) -> None:
        from netbench_tui.tui.screens.queues_menu import PlanMenu

        try:
            menu = make()
        except UsageError as error:
            self._refuse(error)
            return

        def take(choice: Choice | None) -> None:
            if choice is not None:
                self._stage(choice.plan)

        self.app.push_screen(PlanMenu(menu), take)

    def _ask(self, make: Callable[[], Question]) -> None:
        try:
            question = make()
        except UsageError as error:
            self._refuse(error)
            return
        self.question, self.filtering = question, False
        self._open_entry(question.text)
        self._prompt(question)

    def _prompt(self, question: Question) -> None:
        pieces = [(f"{question.label}   ", "text"), ("enter", "strong"), (" stages it   ", "dim")]
        self.query_one(Prompt).say(question.label, [*pieces, ("esc", "strong"), (" leaves it", "dim")])
        self.arrange_if_needed()

    def _say(self, words: str, bad: bool = False) -> None:
        """A sentence above what is staged; an empty one takes it away."""
        self.query_one(Prompt).say(words, bad=bad)
        self.arrange_if_needed()

    # --- typing --------------------------------------------------------------------------------------------------

    def _open_entry(self, text: str) -> None:
        entry = self.query_one(Input)
        with entry.prevent(Input.Changed):
            entry.value = text
        self.arrange_if_needed()
        entry.display = True
        self.screen.set_focus(entry)  # at once: the next key is its own
        entry.action_select_all()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.filtering:
            self.filter_text = event.value.strip()
            self.update_area()
        elif self.question is not None and self.query_one(Prompt).bad:
            self._prompt(self.question)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.filtering:
            self.filtering = False
            self._close_entry(self.query_one(f"#{View.COUNTERS.value}", RowList))
        elif self.question is not None:
            question = self.question
            if self._stage(lambda: question.take(event.value)):
                self.question = None
                self._close_entry(self.rows)

    def _close_entry(self, panel: Panel) -> None:
        self.arrange_if_needed()
        panel.focus()
        face(self).refresh_footer()

    def action_filter(self) -> None:
        self.filtering, self.question = True, None
        words = "counters whose name holds"
        pieces = [(f"{words}   ", "text"), ("enter", "strong"), (" to the list   ", "dim")]
        self._open_entry(self.filter_text)
        self.query_one(Prompt).say(words, [*pieces, ("esc", "strong"), (" shows all", "dim")])
        self.arrange_if_needed()

    def action_back(self) -> None:
        """Leaves the field with nothing staged; else ends the filter."""
        asked = self.question is not None
        self.question, self.filtering = None, False
        if not asked:
            self.filter_text = ""
        self._say("")
        self.update_area()
        counters = self.view is View.COUNTERS and not asked
        self._close_entry(self.query_one(f"#{View.COUNTERS.value}", RowList) if counters else self.rows)
