"""Numbers as the screen shows them: one form per quantity, so that columns line up everywhere. Used by all faces."""

MINUS = "−"
ABSENT = "–"


def gbits(bits_per_second: float | None, decimals: int = 2) -> str:
    """Throughput in Gbit/s, without the unit."""
    return ABSENT if bits_per_second is None else f"{bits_per_second / 1e9:.{decimals}f}"


def fixed(value: float | None, decimals: int = 2) -> str:
    """A plain number with a typographic minus; `–` where there is none."""
    return ABSENT if value is None else f"{value:.{decimals}f}".replace("-", MINUS)


def percent(value: float | None) -> str:
    """CPU per cent: an integer, since a tick is 10 ms."""
    return ABSENT if value is None else f"{round(value)}"


def count(value: float | None) -> str:
    """A count or a rate: `412`, from 10 000 on `12.4 k`, then M and G."""
    if value is None:
        return ABSENT
    for limit, unit in ((1e10, "G"), (1e7, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scale = {"G": 1e9, "M": 1e6, "k": 1e3}[unit]
            return f"{value / scale:.1f} {unit}".replace("-", MINUS)
    return f"{value:.0f}".replace("-", MINUS)


def size(number: int) -> str:
    """Bytes in powers of 1024: `128 KiB`, `1448 B`."""
    for scale, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= scale and number % scale == 0:
            return f"{number // scale} {unit}"
    return f"{number} B"


def minutes(seconds: float) -> str:
    """Time left or passed: `2:10`, `1:02:10`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def link_speed(megabits: int | None) -> str:
    """A NIC's speed: `100G`, `2.5G`, `100M`; empty where the link does not say."""
    if not megabits:
        return ""
    return f"{megabits / 1000:g}G" if megabits >= 1000 else f"{megabits}M"


def plain(text: str) -> str:
    """Text of a host made safe for a terminal: control and bidirectional characters become `?`."""
    return "".join(c if c.isprintable() or c == " " else "?" for c in text)
