"""A preset's settings as its file writes them, and complaints that say where."""

import pytest

from netbench_tui.errors import UsageError
from netbench_tui.model.host import Role
from netbench_tui.model.preset import parse_preset
from netbench_tui.model.preset_settings import PresetSetting
from netbench_tui.model.toml_lines import line_of

SENDER, RECEIVER = Role.SENDER, Role.RECEIVER

WHOLE = """
[traffic]
streams = 2

[settings.both]
tso = false
feature.tx-udp-segmentation = "on"
tx-nocache-copy = "off"
"ring.rx" = 512
queue.rx-0 = { rps_cpus = "2, 0-1", rps_flow_cnt = 64 }

[settings.sender.sysctl.net.ipv4]
tcp_rmem = "4096   131072 6291456"
tcp_sack = false

[settings.receiver]
large-receive-offload = "on"
coalesce.adaptive-rx = true
net.core.rmem_max = 4_194_304
mtu = 9000
"queue.tx-*.xps_cpus" = "none"
service.irqbalance = "off"
"""


def parsed(text: str) -> tuple[PresetSetting, ...]:
    return parse_preset("x", text, "x.toml").settings


def test_keys_in_all_their_forms() -> None:
    assert parsed(WHOLE) == (
        PresetSetting(None, "tso", "off"),
        PresetSetting(None, "feature.tx-udp-segmentation", "on"),
        PresetSetting(None, "feature.tx-nocache-copy", "off"),
        PresetSetting(None, "ring.rx", "512"),
        PresetSetting(None, "queue.rx-0.rps_cpus", "0-2"),
        PresetSetting(None, "queue.rx-0.rps_flow_cnt", "64"),
        PresetSetting(SENDER, "sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456"),
        PresetSetting(SENDER, "sysctl.net.ipv4.tcp_sack", "0"),
        PresetSetting(RECEIVER, "large-receive-offload", "on"),
        PresetSetting(RECEIVER, "coalesce.adaptive-rx", "on"),
        PresetSetting(RECEIVER, "sysctl.net.core.rmem_max", "4194304"),
        PresetSetting(RECEIVER, "mtu", "9000"),
        PresetSetting(RECEIVER, "queue.tx-*.xps_cpus", "none"),
        PresetSetting(RECEIVER, "service.irqbalance", "off"),
    )


def test_a_preset_without_settings_has_none() -> None:
    assert parsed("[traffic]\nstreams = 2\n") == parsed("[settings]\n") == ()


def test_whom_a_setting_belongs_to() -> None:
    machine = {setting.key for setting in parsed(WHOLE) if setting.of_machine}
    assert {key.partition(".")[0] for key in machine} == {"sysctl", "service"}
    both, sender = PresetSetting(None, "tso", "off"), PresetSetting(SENDER, "tso", "off")
    assert [setting.is_for(role) for setting in (both, sender) for role in Role] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "[settings.both]\ntso = false\n\nrung.rx = 3",
            "x.toml:4: rung.rx is no setting: its group is none of feature,",
        ),
        ("[settings.both]\ntsoo = false", "x.toml:2: tsoo is no setting"),
        ("[settings.both]\nring = 3", "x.toml:2: ring names a whole group"),
        ("[settings.both]\nmtu.rx = 3", "x.toml:2: mtu.rx is no setting"),
        ("[settings.both]\ntso = 3", "x.toml:2: tso is on or off, not 3"),
        ("[settings.sender.feature]\n\n'tx-gso-list' = 'yes'", "x.toml:3: feature.tx-gso-list is on or off, not yes"),
        ("[settings.both]\nmtu = 1.5", "x.toml:2: mtu must be text, a whole number, true or false"),
        ("[settings.both]\n'ring.tx' = 1\nring.rx = [\n1,\n]", "x.toml:3: ring.rx must be text"),
        ("[settings.both]\nqdisc.root = ' '", "x.toml:2: qdisc.root needs a value"),
        ("[settings.both]\nqueue.rx-0.rps_cpus = '0-'", "x.toml:2: queue.rx-0.rps_cpus '0-' is not a CPU list"),
        ("[settings.both]\ntso = false\nfeature.tso = true", "x.toml:3: feature.tso is set twice"),
        ("[settings]\n\ntso = false", "x.toml:3: tso is not a table of [settings] (both, sender, receiver)"),
        ("[traffic]\n[settings.sendr]\nmtu = 1", "x.toml:2: sendr is not a table of [settings]"),
        ("[settings]\nsender = 3", "x.toml:2: sender must be a table"),
        ("settings = 3", "x.toml:1: settings must be a table"),
        ("[setings]", "x.toml:1: setings is not a table of a preset (preset, traffic, settings)"),
    ],
)
def test_complaints_name_file_line_and_key(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(text)
    assert caught.value.message.startswith(complaint)


def test_the_same_key_on_two_hosts_is_complained_about_where_it_stands() -> None:
    text = "[settings.sender]\nmtu = 1400\n[settings.receiver]\nmtu = 1.5\n"
    with pytest.raises(UsageError, match=r"^x\.toml:4: mtu"):
        parsed(text)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 1),
        (("a", "b.c"), 2),
        (("a", "b", "c"), 2),
        (("a", "d", "e"), 3),
        (("a", "f"), 4),
        (("g",), 7),
        (("g", "h"), 8),
        (("i",), 9),
        (("nowhere",), 1),
    ],
)
def test_lines_of_keys(path: tuple[str, ...], line: int) -> None:
    text = "[a]\n'b.c' = 1 # a = 2\nd = { e = '=' }\nf = [\n  1,\n]\n[g]\nh = 1\n[[i]]\n"
    assert line_of(text, path) == line
