"""Readers of IOzone's output as widely used scripts have them, in our own words.

Each reads what such a script looks for, in the way in which it looks for it: what it would misread
in our lines it misreads here.
"""

import re


def distribution_suite(text: str, column: int) -> list[float]:
    """Figures as a test suite for distributions reads them.

    In the lines below the one with `reclen` it takes the word of a fixed place: 2 is the first
    write, 4 the first read.
    """
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if "reclen" in line)
    rows = [line.split() for line in lines[start + 1 :]]
    return [float(row[column]) for row in rows if len(row) > column and row[0].isdigit()]


def cut_by_blanks(text: str) -> list[tuple[str, str, str, str, str, str]]:
    """Results as the wrapper of a distributor's performance team cuts them out.

    Blanks are squeezed; the number of processes is word 5 and the test word 6, with word 7 for
    initial writers. Then come the figures behind the equals signs: total, least, greatest, average.
    """
    results = []
    total, least, most = "", "", ""
    number, test = "", ""
    for line in text.splitlines():
        squeezed = " ".join(line.split())
        figure = squeezed.partition("=")[2].strip()
        words = squeezed.split(" ")
        if "Children see throughput for" in line:
            total, number = figure, words[4]
            test = " ".join(words[5:7]) if "initial" in squeezed else words[5]
        elif "Min throughput per process" in line:
            least = figure
        elif "Max throughput per process" in line:
            most = figure
        elif "Avg throughput per process" in line:
            results.append((number, test, total, least, most, figure))
    return results


def last_lines(text: str) -> dict[str, str]:
    """Figures of six tests as a lab for virtual machines reads them from the last 17 lines.

    Blanks are removed, and the figure stands behind the second quote.
    """
    names = ("Initialwrite", "Rewrite", "Read", "Re-read", "Randomread", "Randomwrite")
    results = {}
    for line in text.splitlines()[-17:]:
        squeezed = line.strip().replace(" ", "")
        for name in names:
            if squeezed and name in squeezed:
                results[name] = squeezed.split('"')[2]
                break
    return results


def fields(text: str, words: str) -> float:
    """The last but one field of the line with these words, as one line of awk prints it."""
    (line,) = (line for line in text.splitlines() if words in line)
    return float(line.split()[-2])


def wide_table(text: str) -> tuple[list[str], list[list[str]], dict[str, str]]:
    """Headings, rows and facts as a converter to CSV reads them.

    The first of the two heading lines has `random` twice, `bkwd`, `record` and `stride`; its words
    belong to the headings from the seventh on. A row has more than six numbers between blanks.
    """
    lines = text.split("\n")
    start = next(
        number
        for number, line in enumerate(lines)
        if line.count("random") == 2 and all(word in line for word in ("bkwd", "record", "stride"))
    )
    header = lines[:start]

    def fact(words: str, part: list[str]) -> list[str]:
        return next(line for line in part if words in line.lower()).split()

    version = re.search(r"\d\.\d+", " ".join(fact("version", header[:4])))
    facts = {
        "version": version[0] if version else "",
        "build": fact("build", header[:5])[-1],
        "unit": fact("output is in", header[-10:])[-1],
        "resolution": fact("time resolution =", header[-10:])[-2],
        "stride": fact("file stride size", header[-5:])[-4],
    }
    headings = lines[start + 1].split()
    for place, word in enumerate(lines[start].split(), start=6):
        headings[place] = f"{word} {headings[place]}"
    rows = [line.split() for line in lines[start + 1 :] if len(re.findall(r" \d+ ", line)) > 6]
    return headings, rows, facts


def overlapping_headings(text: str) -> list[str]:
    """Headings as a script makes them that joins words of two lines where they overlap."""
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip().startswith("kB  reclen"))
    above, below = (
        [(word.start(), word.end(), word[0]) for word in re.finditer(r"\S+", line)]
        for line in lines[at - 1 : at + 1]
    )
    joined = []
    for start, end, word in below:
        over = [name for left, right, name in above if left <= end and start <= right]
        joined.append(f"{over[0]} {word}" if over else word)
    return joined


def spreadsheet(text: str, name: str) -> tuple[list[int], dict[int, list[float]]]:
    """A report by sizes as a script for spreadsheets reads it: records, and a row for each file."""
    match = re.search(f'^"{name} report"$', text, re.MULTILINE)
    assert match is not None, name
    rest = text[match.end() :]
    following = re.search(r'^".+ report"$', rest, re.MULTILINE)
    lines = [line.split() for line in rest[: following.start() if following else None].splitlines()]
    head, *rows = [line for line in lines if line]
    return (
        [int(word.strip('"')) for word in head],
        {int(row[0].strip('"')): [float(word) for word in row[1:]] for row in rows},
    )


def unit(text: str) -> str:
    """The kind of unit, as the same script looks for it."""
    match = re.search(r".+Output is in (.+)$", text, re.MULTILINE)
    assert match is not None
    words = ("kbytes", "microseconds", "ops")
    return next(word for word in words if word in match[1].lower())
