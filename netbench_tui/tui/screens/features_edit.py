"""What may be typed for a setting: checked against what the host said of it, before anything is staged. Pure."""

from netbench_tui.model.cpulist import format_cpu_list, parse_cpu_list
from netbench_tui.model.setting import Setting

_CPU_LISTS = ("_cpus", "cpu_bitmap", "irq_affinity", "xps_rxqs")


def bounds_words(setting: Setting) -> str:
    """What a value may be: `64..8160`, `at least 0`, `performance, schedutil`, `CPUs such as 0-3,8 or none`."""
    if setting.choices:
        return ", ".join(setting.choices)
    low, high = setting.minimum, setting.maximum
    if low is not None and high is not None:
        return f"{low}..{high}"
    if low is not None or high is not None:
        return f"at least {low}" if low is not None else f"at most {high}"
    if is_cpu_list(setting):
        return "CPUs such as 0-3,8 or none"
    numbers = setting.value.split()
    if len(numbers) > 1 and all(part.isdecimal() for part in numbers):
        return f"{len(numbers)} whole numbers"
    return ""


def is_cpu_list(setting: Setting) -> bool:
    return setting.key.endswith(_CPU_LISTS)


def canonical(setting: Setting, text: str) -> str:
    """The text as the host would write it. ValueError with words for the person where it cannot be set."""
    text = " ".join(text.split())
    if not text:
        raise ValueError("nothing was typed")
    if setting.choices:
        if text not in setting.choices:
            raise ValueError(f"{text} is not one of {', '.join(setting.choices)}")
        return text
    if is_cpu_list(setting):
        return format_cpu_list(parse_cpu_list(text))
    if setting.minimum is not None or setting.maximum is not None or setting.value.isdecimal():
        return _number(setting, text)
    parts = setting.value.split()
    if len(parts) > 1 and all(part.isdecimal() for part in parts):
        return _numbers(text, len(parts))
    return text


def _number(setting: Setting, text: str) -> str:
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{text} is not a whole number")
    number = int(sign + digits)
    if setting.minimum is not None and number < setting.minimum:
        raise ValueError(f"{number} is less than {setting.minimum}, the least it takes")
    if setting.maximum is not None and number > setting.maximum:
        raise ValueError(f"{number} is more than {setting.maximum}, the most it takes")
    return str(number)


def _numbers(text: str, count: int) -> str:
    parts = text.replace(",", " ").split()
    if len(parts) != count or not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError(f"{count} whole numbers are needed, such as 4096 131072 6291456")
    return " ".join(str(int(part)) for part in parts)
