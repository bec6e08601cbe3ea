"""Octets as the rows of a dump, each function as one tool prints them."""

from collections.abc import Callable


def dots(data: bytes, filler: str = ".") -> str:
    return "".join(chr(b) if 0x20 <= b < 0x7F else filler for b in data)


def rows(data: bytes, size: int = 16) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]


def spaced(data: bytes, sep: str = " ", group: int = 1) -> str:
    text = data.hex()
    return sep.join(text[i : i + 2 * group] for i in range(0, len(text), 2 * group))


def canonical(data: bytes) -> str:
    out = []
    for at, row in rows(data):
        halves = f"{spaced(row[:8]):23}  {spaced(row[8:]):23}"
        out.append(f"{at:08x}  {halves}  |{dots(row)}|")
    return "\n".join([*out, f"{len(data):08x}"]) + "\n"


def go_dump(data: bytes) -> str:
    return canonical(data).rsplit("\n", 2)[0] + "\n"


def xxd(data: bytes, group: int = 2, size: int = 16) -> str:
    width = size * 2 + -(-size // group) - 1
    return (
        "\n".join(f"{at:08x}: {spaced(row, ' ', group):{width}}  {dots(row)}" for at, row in rows(data, size))
        + "\n"
    )


def xxd_bits(data: bytes) -> str:
    return "\n".join(
        f"{at:08x}: {' '.join(f'{b:08b}' for b in row):53}  {dots(row)}" for at, row in rows(data, 6)
    )


def hexdump(data: bytes) -> str:
    out = []
    for at, row in rows(data):
        padded = row + bytes(len(row) % 2)
        out.append(f"{at:07x} " + " ".join(padded[i : i + 2][::-1].hex() for i in range(0, len(padded), 2)))
    return "\n".join([*out, f"{len(data):07x}"]) + "\n"


def od_octal(data: bytes) -> str:
    out = []
    for at, row in rows(data):
        padded = row + bytes(len(row) % 2)
        words = [int.from_bytes(padded[i : i + 2], "little") for i in range(0, len(padded), 2)]
        out.append(f"{at:07o} " + " ".join(f"{w:06o}" for w in words))
    return "\n".join([*out, f"{len(data):07o}"]) + "\n"


def od_x1(data: bytes) -> str:
    out = [f"{at:07o} {spaced(row)}" for at, row in rows(data)]
    return "\n".join([*out, f"{len(data):07o}"]) + "\n"


def od_x1z(data: bytes) -> str:
    out = [f"{at:06x} {spaced(row):47}  >{dots(row)}<" for at, row in rows(data)]
    return "\n".join([*out, f"{len(data):06x}"]) + "\n"


def od_decimal_offsets(data: bytes) -> str:
    out = [f"{at:07d} {spaced(row):47}  >{dots(row)}<" for at, row in rows(data)]
    return "\n".join([*out, f"{len(data):07d}"]) + "\n"


def tcpdump(data: bytes) -> str:
    head = (
        "12:00:00.000001 IP 10.0.0.1.5000 > 10.0.0.2.20880: Flags [P.], seq 1:18, ack 1, win 64, length 17\n"
    )
    return head + "".join(f"\t0x{at:04x}:  {spaced(row, ' ', 2):39}  {dots(row)}\n" for at, row in rows(data))


def tcpdump_x(data: bytes) -> str:
    return "".join(f"\t0x{at:04x}:  {spaced(row, ' ', 2)}\n" for at, row in rows(data))


def wireshark(data: bytes) -> str:
    return "".join(f"{at:04x}   {spaced(row):47}   {dots(row)}\n" for at, row in rows(data))


def wireshark_bare(data: bytes) -> str:
    return "".join(f"{at:04x}   {spaced(row)}\n" for at, row in rows(data))


def follow(data: bytes) -> str:
    return "".join(
        f"{at:08X}  {spaced(row[:8]):23}  {spaced(row[8:]):23}   {dots(row[:8])} {dots(row[8:])}".rstrip()
        + "\n"
        for at, row in rows(data)
    )


def tshark(data: bytes) -> str:
    return "".join(f"{at:04x}  {spaced(row):47}   {dots(row)}\n" for at, row in rows(data))


def netty(data: bytes) -> str:
    line = "+--------+-------------------------------------------------+----------------+\n"
    head = (
        " " * 9 + "+" + "-" * 49 + "+\n" + " " * 9 + "|  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n"
    )
    body = "".join(f"|{at:08x}| {spaced(row):47} |{dots(row):16}|\n" for at, row in rows(data))
    return f"[id: 0x1] READ: {len(data)}B\n" + head + line + body + line


def powershell(data: bytes) -> str:
    head = "\n\n           00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F\n\n"
    return head + "".join(f"{at:08X}   {spaced(row).upper():47}  {dots(row)}\n" for at, row in rows(data))


def hxd(data: bytes) -> str:
    head = "Offset(h) 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F\n\n"
    return head + "".join(f"{at:08X}  {spaced(row).upper():47}  {dots(row)}\n" for at, row in rows(data))


def hexyl(data: bytes) -> str:
    edge = "─" * 25
    out = [f"┌────────┬{edge}┬{edge}┬────────┬────────┐"]
    for at, row in rows(data):
        text = "".join(
            chr(b) if 0x21 <= b < 0x7F else " " if b == 0x20 else "0" if not b else "×" for b in row
        )
        out.append(f"│{at:08x}│ {spaced(row[:8]):23} ┊ {spaced(row[8:]):23} │{text[:8]:8}┊{text[8:]:8}│")
    return "\n".join([*out, f"└────────┴{edge}┴{edge}┴────────┴────────┘"])


def windbg(data: bytes) -> str:
    out = []
    for at, row in rows(data):
        joined = spaced(row[:8]) + ("-" + spaced(row[8:]) if len(row) > 8 else "")
        out.append(f"00000000`{0x12FF40 + at:08x}  {joined:47}  {dots(row)}")
    return "\n".join(out)


def gdb_bytes(data: bytes) -> str:
    base = 0x7FFE1000
    return "\n".join(
        f"0x{base + at:x}:\t" + "\t".join(f"0x{b:02x}" for b in row) for at, row in rows(data, 8)
    )


def gdb_symbol(data: bytes) -> str:
    base = 0x601040
    return "\n".join(
        f"0x{base + at:x} <buffer+{at}>:\t" + "\t".join(f"0x{b:02x}" for b in row)
        for at, row in rows(data, 8)
    )


def curl(data: bytes) -> str:
    head = f"=> Send data, {len(data)} bytes (0x{len(data):x})\n"
    return head + "".join(f"{at:04x}: {spaced(row):47} {dots(row)}\n" for at, row in rows(data))


def certutil(data: bytes) -> str:
    return "".join(
        f"{at:04x}\t{spaced(row[:8])}  {spaced(row[8:])}".rstrip().ljust(54) + f"   {dots(row)}\n"
        for at, row in rows(data)
    )


def strace_write(data: bytes) -> str:
    return "".join(
        f" | {at:05x}  {spaced(row[:8]):23}  {spaced(row[8:]):23}  {dots(row):16} |\n"
        for at, row in rows(data)
    )


DUMPS: dict[str, Callable[[bytes], str]] = {
    "hexdump -C": canonical,
    "go hex.Dump": go_dump,
    "xxd": xxd,
    "xxd -g1": lambda data: xxd(data, 1),
    "xxd -c 8": lambda data: xxd(data, 2, 8),
    "xxd -b": xxd_bits,
    "od -Ax -tx1z": od_x1z,
    "od -Ad -tx1z": od_decimal_offsets,
    "tcpdump -X": tcpdump,
    "tcpdump -x": tcpdump_x,
    "wireshark": wireshark,
    "wireshark without text": wireshark_bare,
    "follow": follow,
    "tshark": tshark,
    "netty": netty,
    "powershell": powershell,
    "hxd": hxd,
    "hexyl": hexyl,
    "windbg": windbg,
    "gdb bytes": gdb_bytes,
    "gdb symbols": gdb_symbol,
    "curl": curl,
    "certutil": certutil,
    "strace -e write": strace_write,
}
WORD_DUMPS: dict[str, Callable[[bytes], str]] = {"hexdump": hexdump, "od": od_octal, "od -tx1": od_x1}
