"""A canvas of braille dots, 2 x 4 a cell. Used by charts; knows nothing of data or colour."""

_BASE = 0x2800
# Bit of the dot at (x, y) inside a cell, by Unicode's numbering of braille dots.
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
# What stands for a cell where braille cannot be drawn: by whether its upper, its lower or both halves hold dots.
_ASCII = {(False, False): " ", (True, False): "'", (False, True): ".", (True, True): ":"}
_UPPER = 0x01 | 0x02 | 0x08 | 0x10


class DotCanvas:
    """`columns` x `rows` cells; dots count from the upper left, x in 0..2*columns-1, y in 0..4*rows-1."""

    __slots__ = ("bits", "columns", "rows")

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.bits = [bytearray(columns) for _ in range(rows)]

    @property
    def width(self) -> int:
        return 2 * self.columns

    @property
    def height(self) -> int:
        return 4 * self.rows

    def dot(self, x: int, y: int) -> None:
        """Sets one dot; outside the canvas nothing happens."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self.bits[y >> 2][x >> 1] |= _BITS[x & 1][y & 3]

    def column(self, x: int, first: int, last: int) -> None:
        """Sets the dots from `first` to `last`, whichever is higher."""
        for y in range(min(first, last), max(first, last) + 1):
            self.dot(x, y)

    def has(self, x: int, y: int) -> bool:
        return bool(self.bits[y >> 2][x >> 1] & _BITS[x & 1][y & 3])

    def character(self, column: int, row: int, ascii_only: bool = False) -> str:
        """The cell's sign; a space where it has no dot."""
        bits = self.bits[row][column]
        if not bits:
            return " "
        if ascii_only:
            return _ASCII[bool(bits & _UPPER), bool(bits & ~_UPPER)]
        return chr(_BASE + bits)
