"""The one registry of what a key does. Bindings, the footer, help and the command palette are all read from it."""

from collections.abc import Iterable
from typing import NamedTuple

from textual.binding import Binding


class Action(NamedTuple):
    """`scope` is where it works; `name` the Textual action without `action_`; `label` is for the footer, `help` a full
    sentence for help and palette. `shown` is the key as the footer writes it."""

    scope: str
    name: str
    keys: str
    label: str
    help: str
    shown: str = ""
    footer: bool = True
    palette: bool = True

    @property
    def key_text(self) -> str:
        return self.shown or self.keys.split(",")[0]


ACTIONS: tuple[Action, ...] = (
    Action("list", "cursor_down", "down,j", "down", "Move to the next row", "↓ j", footer=False, palette=False),
    Action("list", "cursor_up", "up,k", "up", "Move to the row before", "↑ k", footer=False, palette=False),
    Action("list", "page_down", "pagedown,ctrl+d", "page down", "A page down", "pgdn", footer=False, palette=False),
    Action("list", "page_up", "pageup,ctrl+u", "page up", "A page up", "pgup", footer=False, palette=False),
    Action("list", "first", "home,g", "first", "Move to the first row", "g", footer=False, palette=False),
    Action("list", "last", "end,G", "last", "Move to the last row", "G", footer=False, palette=False),
    Action("list", "open", "enter", "open", "Open the row", palette=False),
    Action("presets", "dismiss_chooser", "escape,q", "back", "Leave the preset as it is", "esc", palette=False),
    Action("connect", "cancel_connect", "escape", "cancel", "Give up connecting; nothing stays on the hosts", "esc"),
    Action("connect", "swap", "s", "swap roles", "Swap sender and receiver"),
    Action("connect", "lab", "L", "local lab", "Open the lab: two namespaces on this machine, real TCP, no NIC"),
    Action("connect", "leave_field", "escape", "leave the field", "Leave the field", "esc", palette=False),
    Action("overview", "connect_others", "c", "connect others", "Let this pair go and choose other hosts"),
    Action("overview", "choose_path", "n", "data path", "Choose the NICs that the traffic goes through"),
    Action("paths", "dismiss_chooser", "escape,q", "back", "Leave the data path as it is", "esc", palette=False),
    Action("run", "stop", "escape", "stop", "Stop the run in progress; what was measured so far is kept", "esc"),
    Action("run", "choose_preset", "p", "preset", "Choose the preset to run"),
    Action("run", "next_preset", "right_square_bracket", "next preset", "Take the next preset", "]", footer=False),
    Action(
        "run", "previous_preset", "left_square_bracket", "preset before", "Take the preset before", "[", footer=False
    ),
    Action("plans", "dismiss_chooser", "escape,q", "back", "Stage nothing", "esc", palette=False),
    Action("queues", "pin", "e", "pin IRQ", "Pin the chosen queue's IRQ to CPUs"),
    Action("queues", "spread_node", "n", "spread on node", "Spread the IRQs over the CPUs of the NIC's node"),
    Action("queues", "spread", "s", "spread", "Spread the IRQs over a list of CPUs"),
    Action("queues", "steering", "p", "RPS/XPS", "Set RPS or XPS: one-to-one, node-local, off"),
    Action("queues", "weights", "w", "RSS weights", "Spread RSS evenly over some queues, or by weights"),
    Action("queues", "flows", "F", "RFS", "Set receive flow steering on or off"),
    Action("queues", "irqbalance", "i", "irqbalance", "Keep irqbalance off this NIC's IRQs, or stop it"),
    Action("queues", "channels", "C", "channels", "Change the number of channels: the link goes down for a moment"),
    Action("queues", "filter", "slash", "filter", "Show only counters whose name holds a text", "/"),
    Action("queues", "next_view", "v", "view", "Next view below: RSS, steering, softnet, counters", footer=False),
    Action("queues", "view_before", "V", "view before", "View before, below the queues", footer=False),
    Action("queues", "other_host", "o", "other host", "Show the other host's queues", footer=False),
    Action("queues", "other_kind", "t,d", "transmit", "Show transmit queues for receive queues, or back", footer=False),
    Action("queues", "back", "escape", "back", "Leave the field, or end the filter", "esc", palette=False),
    Action("history", "filter", "slash", "filter", "Show only runs that hold a text", "/"),
    Action("history", "back", "escape", "back", "Back to the list, or end the filter", "esc", palette=False),
    Action("topology", "move_left", "left,h", "node", "Choose the node before", "←→", palette=False),
    Action("topology", "move_right", "right,l", "right", "Choose the next node", "→ l", footer=False, palette=False),
    Action("topology", "move_up", "up,k", "up", "Choose the node above", "↑ k", footer=False, palette=False),
    Action("topology", "move_down", "down,j", "down", "Choose the node below", "↓ j", footer=False, palette=False),
    Action("topology", "threads", "enter", "threads", "Show the chosen node's threads, one in a row"),
    Action("topology", "spread", "i", "IRQs here", "Stage the NIC's IRQs on the chosen node, one a CPU in turn"),
    Action("topology", "other_host", "o", "other host", "Show the other host"),
    Action("topology", "back", "escape", "back", "Back to the sockets", "esc", palette=False),
    Action("change-bar", "keep", "enter", "keep", "Keep what is on trial until the workbench is left", palette=False),
    Action("change-bar", "back", "escape", "to the list", "Back to the list; the trial goes on", "esc", palette=False),
    Action("features", "toggle_setting", "space", "toggle", "Stage the other value on the host whose column is marked"),
    Action("features", "toggle_both", "b,shift+space", "both hosts", "Stage the other value on both hosts", "b"),
    Action(
        "features", "host_sender", "left,h", "sender", "Go to the sender's column", "← h", footer=False, palette=False
    ),
    Action(
        "features",
        "host_receiver",
        "right,l",
        "receiver",
        "Go to the receiver's column",
        "→ l",
        footer=False,
        palette=False,
    ),
    Action("features", "other_host", "o", "other host", "Go to the other host's column", footer=False, palette=False),
    Action("staged", "apply_staged", "a", "apply", "Write what is staged to the hosts, on trial"),
    Action("staged", "drop_staged", "x", "drop staged", "Forget what is staged; nothing is written"),
    Action(
        "staged",
        "turn_on_refusal",
        "f",
        "on refusal",
        "Where a host refuses one change: apply the rest, or put all of it back",
        footer=False,
    ),
    Action("staged", "undo_last", "u", "undo", "Take back the last changes that were written"),
    Action(
        "staged",
        "keep_for_good",
        "P",
        "keep for good",
        "Keep all changes for good: they stay after the workbench is left",
        footer=False,
    ),
    Action("staged", "changes", "J", "changes", "Show what differs from how the session found it", footer=False),
    Action("staged", "refresh_settings", "ctrl+r", "read again", "Read the hosts' settings again", footer=False),
    Action("features-area", "filter", "slash", "filter", "Show only settings that hold a text", "/"),
    Action("features-area", "only_different", "d", "only different", "Show only what differs between the hosts"),
    Action(
        "features-area", "only_changed", "c", "only changed", "Show only what is staged or was changed", footer=False
    ),
    Action("features-area", "back", "escape", "back", "Leave the field, or show all again", "esc", palette=False),
    Action("changes", "undo_chosen", "u", "undo this", "Put the chosen setting back as the session found it"),
    Action("changes", "restore_all", "U", "restore all", "Put back everything as the session found it"),
    Action("changes", "keep_all", "K", "keep", "Keep what is on trial until the workbench is left"),
    Action("changes", "script", "S", "script", "Show the commands of ethtool, ip and sysctl that make these changes"),
    Action("changes", "close", "escape,q,J", "close", "Close the list of changes", "esc", palette=False),
    Action("script", "write", "w", "write to a file", "Write the script to a file in the present folder"),
    Action("script", "close", "escape,q,S", "close", "Close the script", "esc", palette=False),
    Action("app", "run", "r", "run", "Run the chosen preset on the two hosts"),
    Action("app", "area('hosts')", "1", "Hosts", "Go to Hosts: both hosts as they are, or Connect", footer=False),
    Action("app", "area('features')", "2", "Features", "Go to Features: what both NICs can and do", footer=False),
    Action("app", "area('queues')", "3", "Queues", "Go to Queues: queue, IRQ, CPU, and their rates", footer=False),
    Action("app", "area('topology')", "4", "Topology", "Go to Topology: sockets, nodes, caches, cores", footer=False),
    Action("app", "area('run')", "5", "Run", "Go to Run: traffic, both hosts' CPUs, the result", footer=False),
    Action("app", "area('history')", "6", "History", "Go to History: all runs that were kept", footer=False),
    Action("app", "app.focus_next", "tab", "next panel", "Go to the next panel", footer=False, palette=False),
    Action(
        "app", "app.focus_previous", "shift+tab", "panel before", "Go to the panel before", footer=False, palette=False
    ),
    Action("app", "next_theme", "ctrl+t", "theme", "Take the next theme: dark, light, Okabe-Ito", footer=False),
    Action("app", "command_palette", "ctrl+p", "palette", "Find any action by its words", footer=False, palette=False),
    Action("app", "leave", "q", "quit", "Quit; what was started on the hosts is ended"),
    Action(
        "app", "help", "question_mark,f1", "help", "Say what has the focus and what its keys do", "?", palette=False
    ),
)


def in_scope(scope: str) -> list[Action]:
    return [action for action in ACTIONS if action.scope == scope]


def bindings(scope: str) -> list[Binding]:
    """Textual bindings of a scope, each with an id that a keymap can name."""
    return [
        Binding(action.keys, action.name, action.label, show=action.footer, tooltip=action.help, id=_id(action))
        for action in in_scope(scope)
    ]


def _id(action: Action) -> str:
    return f"{action.scope}.{''.join(c if c.isalnum() else '-' for c in action.name).strip('-')}"


def by_binding_ids(ids: Iterable[str]) -> list[Action]:
    """The actions of these binding ids, in the registry's order."""
    wanted = set(ids)
    return [action for action in ACTIONS if _id(action) in wanted]
