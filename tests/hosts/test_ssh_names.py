"""Names of hosts as people write them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbench_tui.errors import UsageError
from netbench_tui.hosts.ssh import split_name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("alpha", ("", "alpha", None)),
        ("root@alpha", ("root", "alpha", None)),
        ("root@alpha:2222", ("root", "alpha", 2222)),
        ("alpha:22", ("", "alpha", 22)),
        ("user@domain@alpha", ("user@domain", "alpha", None)),
        ("192.0.2.7:22", ("", "192.0.2.7", 22)),
        ("2001:db8::7", ("", "2001:db8::7", None)),
        ("[2001:db8::7]", ("", "2001:db8::7", None)),
        ("root@[2001:db8::7]:2222", ("root", "2001:db8::7", 2222)),
        ("fe80::1%eth0", ("", "fe80::1%eth0", None)),
        ("größe", ("", "größe", None)),
    ],
)
def test_names(name: str, parts: tuple[str, str, int | None]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize(
    "name",
    [
        "",
        "@alpha",
        "root@",
        "-oProxyCommand=x",
        "root@-x",
        ":22",
        "alpha:",
        "alpha:ssh",
        "alpha:0",
        "alpha:65536",
        "alpha:-1",
        "alpha:²",
        "alpha:" + "9" * 9999,
        "[2001:db8::7",
        "[2001:db8::7]22",
        "[2001:db8::7]:",
        "[]",
        "a b",
        "a\n",
        "a\0",
    ],
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        split_name(name)
    assert "USER@HOST:PORT" in caught.value.hint


@settings(deadline=None)  # other work on the machine is no failure
@given(st.one_of(st.text(), st.text("a@:[]-1 ", max_size=12)))
def test_any_text_is_a_name_or_a_usage_error(name: str) -> None:
    try:
        user, host, port = split_name(name)
    except UsageError:
        return
    assert host and not host.startswith("-")
    assert port is None or 1 <= port <= 65535
    assert (user + "@" in name) or not user
