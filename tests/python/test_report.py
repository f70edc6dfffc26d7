"""The report and the pictures: what they show is what the JSON says."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import penstock
from command import JOB, interrupted
from command import penstock as command
from penstock.charts import comparison as charts
from penstock.charts import palette
from penstock.charts import policy as policy_charts
from penstock.report.comparison import TITLES
from reading import Page, read_off

POLICIES = ("noop", "deadline", "size-priority")
KINDS = ("latency", "percentiles", "throughput", "queue")
CLASSES = ("tellers", "batch")


@pytest.fixture(scope="module")
def result() -> penstock.Comparison:
    """A bank's minute under three policies."""
    job = penstock.Job.from_toml(JOB.replace('"256KiB"', '"1MiB"'), name="bank.toml")
    return penstock.compare(job, policies=POLICIES, set={"duration": "1min"})


@pytest.fixture(scope="module")
def slides(result: penstock.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its pictures."""
    folder = tmp_path_factory.mktemp("slides") / "plots"
    result.save_plots(folder)
    return folder


ONE_CLASS = """\
duration = "1s"
device = "flash"

[class.tellers]

[[agent]]
class = "tellers"
op = "write"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "200/s" }
"""
"""A job with few pictures."""


@pytest.fixture(scope="module")
def little() -> penstock.Comparison:
    """A result with few pictures."""
    return penstock.compare(penstock.Job.from_toml(ONE_CLASS), policies=["noop"])


@pytest.fixture(scope="module")
def page(result: penstock.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Its report."""
    path = tmp_path_factory.mktemp("report") / "out.html"
    result.save_report(path)
    return Page(path.read_text())


def figures(page: Page) -> str:
    """The page up to the table of disks, which has rows of its own."""
    return page.text.partition('<section id="disks">')[0]


def judged(result: penstock.Comparison) -> Any:  # noqa: ANN401 - JSON
    """A comparison with its detail and its verdict."""
    return {**json.loads(result.json), "verdict": result.judged()}


class TestPage:
    """One file that says all."""

    def test_its_data_is_the_json(self, page: Page, result: penstock.Comparison) -> None:
        assert page.comparison() == judged(result)

    def test_its_heading_and_its_verdict(self, page: Page, result: penstock.Comparison) -> None:
        words = " ".join(page.words.split())
        for said in (
            "SIMULATED",
            "bank.toml on hdd-7200",
            "duration=1min",
            "Seed 7 ",
            result.machine.cpu,
            result.machine.kernel,
            f"Penstock {penstock.__version__}",
            *result.verdict(),
            *(line for line in result.job_text.splitlines() if line),
        ):
            assert " ".join(said.split()) in words, said

    def test_its_table_has_the_figures_of_every_class_and_policy(
        self, page: Page, result: penstock.Comparison
    ) -> None:
        rows = re.findall(r'<th scope="row">([^<]+)</th>(.*?)</tr>', figures(page), re.DOTALL)
        found = [(policy, re.findall(r"<td[^>]*>([^<]*)</td>", cells)) for policy, cells in rows]
        assert [policy for policy, _ in found] == list(POLICIES) * len(CLASSES)
        for (policy, cells), name in zip(
            found, [c for c in CLASSES for _ in POLICIES], strict=True
        ):
            one = result[policy][name]
            assert cells[7] == f"{one.requests:,}"
            assert cells[6] == f"{100 * one.share:.1f} %"
            p99, unit = cells[2].split()
            assert float(p99) * {"ms": 1e6, "s": 1e9}[unit] == pytest.approx(
                one.lat_ns.p99, rel=5e-3
            )

    def test_a_measured_run_says_so(self, job: Path, disk: Path, tmp_path: Path) -> None:
        words = {"duration": "1s"}
        result = penstock.compare(job, policies=["noop"], on=disk, create="16MiB", set=words)
        result.save_report(tmp_path / "out.html")
        page = Page((tmp_path / "out.html").read_text())
        said = " ".join(page.words.split())
        for words_said in ("MEASURED", "(a real file)", "Engine ", "Began 20", "the schedule was "):
            assert words_said in said
        assert "SIMULATED" not in said
        assert page.comparison() == judged(result)

    def test_an_interrupted_run_says_so(self, job: Path, tmp_path: Path) -> None:
        path = tmp_path / "out.html"
        words = ("run", job, "--policy", "noop", "--set", "duration=100000h", "--report", path)
        ended = interrupted(*words, when="noop")
        assert ended.code == 130
        assert f"wrote {path}" in ended.err
        assert "PARTIAL: interrupted; the figures" in Page(path.read_text()).words


class TestPictures:
    """Read off its axes, each picture shows the figures of the JSON."""

    def test_there_is_one_for_each_question_and_class(self, page: Page) -> None:
        counts = [name for name in page.pictures() if name.startswith("policy-")]
        assert "policy-deadline" in counts
        assert set(counts) <= {f"policy-{one}" for one in POLICIES}
        assert page.pictures() == [
            "tradeoff",
            *(f"{kind}-{one}" for kind in KINDS[:-1] for one in CLASSES),
            # Of a loop that always has as many outstanding no queue is drawn.
            "queue-tellers",
            "shares",
            "arm",
            *counts,
        ]
        for name in page.pictures()[1 : -len(counts) - 1]:
            labels = page.picture(name).labels()
            assert labels == list(CLASSES if name == "shares" else POLICIES), name

    def test_a_trade_off_has_a_point_for_each_policy(
        self, page: Page, result: penstock.Comparison
    ) -> None:
        picture = page.picture("tradeoff")
        across, up = picture.axis("x"), picture.axis("y")
        pixel = read_off(across, 1, log=True) / read_off(across, 0, log=True) - 1
        points = [mark.points[0] for mark in picture.marks()]
        for (x, y), policy in zip(points, POLICIES, strict=True):
            assert read_off(across, x, log=True) == pytest.approx(
                result[policy]["tellers"].lat_ns.p99, rel=pixel
            )
            batch = result[policy]["batch"].bw_bytes / 1e6
            assert read_off(up, y) == pytest.approx(batch, rel=0.02)
        assert set(POLICIES) & set(picture.words())

    @pytest.mark.parametrize("name", CLASSES)
    def test_throughput_and_queue(self, page: Page, result: penstock.Comparison, name: str) -> None:
        for kind, of in (("throughput", lambda row, s: row["bytes"] / s / 1e6), ("queue", queued)):
            if f"{kind}-{name}" not in page.pictures():
                continue
            picture = page.picture(f"{kind}-{name}")
            lines = picture.lines()
            assert [line.colour for line in lines] == [one.light for one in palette.POLICIES[:3]]
            assert len({line.dash for line in lines}) == len(lines)
            ticks = picture.axis("y")
            for line, (rows, window_s) in zip(lines, detail(result, name), strict=True):
                expected = [of(row, window_s) for row in rows]
                if kind == "throughput":
                    expected.pop()  # the last window is not whole
                found = [read_off(ticks, y) for _, y in line.points]
                pixel = abs(read_off(ticks, 1) - read_off(ticks, 0))
                assert found == pytest.approx(
                    expected, abs=0.75 * pixel
                )  # ticks lie on whole pixels

    @pytest.mark.parametrize("name", CLASSES)
    def test_the_marks_on_the_distribution_are_the_percentiles_of_the_table(
        self, page: Page, result: penstock.Comparison, name: str
    ) -> None:
        picture = page.picture(f"latency-{name}")
        ticks = picture.axis("x")
        marks: dict[str, list[float]] = {}
        for mark in picture.marks():
            marks.setdefault(mark.colour, []).append(read_off(ticks, mark.points[0][0], log=True))
        assert len({mark.dash for mark in picture.marks()}) == len(POLICIES)
        # Ticks stand on whole pixels, half of one from their values; places have one digit.
        pixel = read_off(ticks, 0.55, log=True) / read_off(ticks, 0, log=True) - 1
        for number, policy in enumerate(POLICIES):
            spread = result[policy][name].lat_ns
            known = [spread.p50, spread.p95, spread.p99, spread.p999]
            found = marks[palette.POLICIES[number].light]
            assert found == pytest.approx(known[: len(found)], rel=pixel)
            # A percentile beyond the rarest request of all cannot be shown.
            assert len(found) >= 3

    @pytest.mark.parametrize("name", CLASSES)
    def test_the_curves_pass_through_the_marks(self, page: Page, name: str) -> None:
        picture = page.picture(f"latency-{name}")
        curves = {line.colour: line.points for line in picture.lines()}
        for mark in picture.marks():
            ((x, y),) = mark.points
            steps = [point for point in curves[mark.colour] if abs(point[0] - x) <= 3]
            assert min(point[1] for point in steps) - 3 <= y, (name, mark)
            assert max(point[1] for point in steps) + 3 >= y, (name, mark)

    def test_shares(self, page: Page, result: penstock.Comparison) -> None:
        words = page.picture("shares").words()
        for policy in POLICIES:
            assert policy in words
            for one in result[policy].classes:
                if one.share > 0.2:
                    assert f"{100 * one.share:.1f} %" in words


def queued(row: dict[str, Any], _: float) -> float:
    """The queue of a window."""
    return float(row["outstanding"])


def detail(result: penstock.Comparison, name: str) -> list[tuple[list[dict[str, Any]], float]]:
    """Windows of a class under each policy, and how long they last."""
    details = [run["detail"] for run in json.loads(result.json)["runs"]]
    return [
        (next(one for one in each["classes"] if one["name"] == name)["series"], each["window_s"])
        for each in details
    ]


class TestPalette:
    """Colour never stands alone, and stands out."""

    def test_each_colour_has_one_purpose(self) -> None:
        light = [one.light for one in (*palette.DRAWN, palette.GROUND)]
        assert len(light) == len(set(light))

    def test_no_two_policies_look_alike_without_colour(self) -> None:
        colours, dashes, shapes = (
            [n % len(among) for n in range(24)]
            for among in (palette.POLICIES, palette.DASHES, palette.SHAPES)
        )
        for one, other in ((dashes, shapes), (colours, dashes), (colours, shapes)):
            assert len(set(zip(one, other, strict=True))) == 24

    def test_lines_and_words_stand_out_from_their_ground(self) -> None:
        def luminance(colour: str) -> float:
            parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
            linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        def contrast(one: str, other: str) -> float:
            low, high = sorted((luminance(one), luminance(other)))
            return (high + 0.05) / (low + 0.05)

        for light in (True, False):
            ground, ink, faint, inside = (
                pair[0 if light else 1]
                for pair in (palette.GROUND, palette.INK, palette.FAINT, palette.INSIDE)
            )
            assert contrast(ink, ground) >= 7
            assert contrast(faint, ground) >= 4.5
            for pair in palette.POLICIES:
                assert contrast(pair[0 if light else 1], ground) >= 4
            for pair in palette.CLASSES:
                assert contrast(inside, pair[0 if light else 1]) >= 6


class TestCharts:
    """Any comparison can be drawn."""

    def test_no_chart_holds_more_than_5000_rows(self, job: Path) -> None:
        # A drained overload goes on for long after its planned end: the most windows there are.
        changes = {"agent.0.rate": "2000/s", "duration": "2s"}
        result = penstock.compare(job, set=changes)
        assert len(result.runs) >= 5
        for name, chart in result.charts.items():
            sets = json.loads(chart.to_json())["datasets"]
            assert sum(len(rows) for rows in sets.values()) <= charts.ROWS, name

    def test_every_kind_of_chart_keeps_to_its_schema(self, job: Path) -> None:
        # Charts are drawn without Altair's checks; `to_dict` makes all of them.
        changes = {"duration": "2s", "class.batch.weight": "300"}
        policies = ["fcfs", "fairio"]
        result = penstock.compare(job, policies=policies, on="hdd-7200", set=changes, repeat=2)
        kinds = {name.split("-")[0] for name, chart in result.charts.items() if chart.to_dict()}
        assert kinds == set(TITLES)

    def test_a_policy_that_counts_has_a_picture_of_it(self, job: Path, tmp_path: Path) -> None:
        changes = {"duration": "1min", "class.batch.weight": "300", "fairio.cycle": "700ms"}
        result = penstock.compare(job, policies=["fcfs", "fairio"], set=changes)
        counted = [name for name in result.charts if name.startswith("policy-")]
        assert counted == ["policy-fairio"]
        detail = json.loads(result.json)["runs"][1]["detail"]
        series = {one["name"]: one["values"] for one in detail["policy"]}
        drawn = json.loads(result.charts["policy-fairio"].to_json())["datasets"].values()
        shown = [[row["value"] for row in rows] for rows in drawn]
        assert series["cycles"] in shown
        assert sum(series["cycles"]) == result["fairio"].policy_stats["cycles"]
        both = [series[f"class.{name}.estimate_ns"] for name in ("tellers", "batch")]
        assert [*both[0], *both[1]] in shown
        result.save_report(tmp_path / "out.html")
        page = Page((tmp_path / "out.html").read_text())
        assert page.pictures()[-1] == "policy-fairio"
        assert page.comparison() == judged(result)
        words = page.picture("policy-fairio").words()
        assert {"cycles in each window", "share left", "estimate", "tellers", "batch"} <= set(words)

    def test_of_windows_that_are_joined_the_values_of_policies_are_joined(self, job: Path) -> None:
        total = {"name": "a", "counter": "a", "of_class": None, "disk": None, "kind": "total"}
        level = {**total, "name": "b", "counter": "b", "kind": "level"}
        series = [{**total, "values": [1, 2, 4, None]}, {**level, "values": [None, 5, 6, 7]}]
        result = penstock.compare(job, policies=["fcfs"], set={"duration": "1s"})
        raw = json.loads(result.json)
        raw["runs"][0]["detail"]["policy"] = series
        drawn = dict(policy_charts.all_of(raw, rows=4))["policy-fcfs"]
        sets = json.loads(drawn.to_json())["datasets"].values()
        shown = [[row["value"] for row in rows] for rows in sets]
        assert sorted(shown) == [[3, 4], [5, 7]]

    def test_of_windows_that_are_joined_the_worst_percentile_is_reported(
        self, result: penstock.Comparison, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(charts, "ROWS", 200)
        chart = json.loads(result.charts["percentiles-tellers"].to_json())
        shown = [row["ns"] for rows in chart["datasets"].values() for row in rows if "ns" in row]
        rows = detail(result, "tellers")[0][0][:-1]
        assert max(row["p99_ns"] or 0 for row in rows) in shown
        assert set(shown) <= {
            row[key] for each, _ in detail(result, "tellers") for row in each for key in PAIR
        }

    @pytest.mark.parametrize(
        "changes",
        [
            {"duration": "1ms"},
            pytest.param({"agent.0.rate": "1/s", "duration": "100ms"}, marks=pytest.mark.soak),
            pytest.param({"device": "flash", "duration": "100ms"}, marks=pytest.mark.soak),
        ],
    )
    def test_little_can_be_drawn_too(
        self, job: Path, tmp_path: Path, changes: dict[str, str]
    ) -> None:
        text = job.read_text().replace("[class.batch]", "[class.batch]\n[class.idle]")
        result = penstock.compare(
            penstock.Job.from_toml(text), policies=["noop", "noop"], set=changes
        )
        result.save_report(tmp_path / "out.html")
        page = Page((tmp_path / "out.html").read_text())
        assert page.comparison() == judged(result)
        assert page.picture("latency-batch").labels() == ["noop", "noop (2)"]
        result.save_workbook(tmp_path / "out.xlsx")


PAIR = ("p50_ns", "p99_ns")

FORMATS = (".png", ".svg")


def pixel(colour: str) -> int:
    """An opaque pixel of a colour `#rrggbb`, as four bytes in one number."""
    return int.from_bytes(bytes.fromhex(f"{colour[1:]}ff"), sys.byteorder)


class TestPlots:
    """Pictures for everything that is not a page."""

    def test_a_slide_says_what_it_shows(self, slides: Path) -> None:
        words = re.findall(r">([^<>]+)</t", (slides / "latency-tellers.svg").read_text())
        assert {"How long requests take: tellers", "duration=1min"} <= set(words)
        (about,) = (line for line in words if line.startswith("SIMULATED: "))
        date = r"\d\d\d\d-\d\d-\d\d"
        assert re.fullmatch(rf"SIMULATED: bank\.toml on hdd-7200, seed 7, {date}", about)

    def test_a_slide_has_the_colours_of_its_ground(
        self, little: penstock.Comparison, slides: Path, tmp_path: Path
    ) -> None:
        little.save_plots(tmp_path, dark=True)
        for folder, dark in ((slides, False), (tmp_path, True)):
            drawn = (folder / "latency-tellers.svg").read_text()
            used = set(re.findall(r'"(#[0-9a-f]{6})"', drawn))
            assert used <= {pair[dark] for pair in (*palette.DRAWN, palette.GROUND)}
            with Image.open(folder / "latency-tellers.png") as opened:
                ground = opened.convert("RGB").crop((2, 2, 3, 3)).tobytes()
            assert f"#{ground.hex()}" == palette.GROUND[dark]

    def test_every_chart_is_a_picture(self, result: penstock.Comparison, slides: Path) -> None:
        names = sorted(path.name for path in slides.iterdir())
        assert names == sorted(f"{name}{kind}" for name in result.charts for kind in FORMATS)
        for path in slides.glob("*.png"):
            with Image.open(path) as opened:
                assert opened.info["Software"] == "penstock"
                image = opened.convert("RGBA")
            assert image.width == pytest.approx(1920, abs=2), path
            assert image.height > 600, path
            pixels = set(memoryview(image.tobytes()).cast("I"))
            assert pixel(palette.GROUND.light) in pixels
            drawn = palette.CLASSES[:2] if path.stem == "shares" else palette.POLICIES[:3]
            one_colour = path.stem in ("tradeoff", "arm") or path.stem.startswith("policy-")
            for pair in drawn[:1] if one_colour else drawn:
                assert pixel(pair.light) in pixels, (path, pair)

    def test_ours_are_replaced_and_only_ours(
        self, little: penstock.Comparison, tmp_path: Path
    ) -> None:
        little.save_plots(tmp_path, dark=True)
        dark = (tmp_path / "shares.png").read_bytes()
        little.save_plots(tmp_path)
        assert (tmp_path / "shares.png").read_bytes() != dark
        (tmp_path / "shares.png").write_bytes(b"mine")
        with pytest.raises(penstock.PenstockError, match=r"shares\.png exists and is no picture"):
            little.save_plots(tmp_path)


class TestFiles:
    """Whole or not at all, and no file of another program is touched."""

    def run(self, job: Path, *words: str | Path) -> tuple[int, str, str]:
        return command("run", job, "--policy", "noop", "--set", "duration=1s", *words)

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        job = tmp_path / "job.toml"
        job.write_text(ONE_CLASS)
        html, plots, xlsx = (tmp_path / name for name in ("out.html", "plots", "out.xlsx"))
        plain = self.run(job, "--json")
        words = ("--report", html, "--plots", plots, "--xlsx", xlsx)
        code, out, err = self.run(job, "--json", *words)
        assert (code, out) == (0, plain[1])
        assert err == f"wrote {html}\nwrote 10 pictures in {plots}\nwrote {xlsx}\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            *("job.toml", "out.html", "out.xlsx", "plots")
        ]
        page = Page(html.read_text()).comparison()
        for run in page["runs"]:
            del run["detail"]
        assert page == json.loads(out)
        # Once more: ours is replaced.
        assert self.run(job, "--xlsx", xlsx)[0] == 0

    @pytest.mark.parametrize("option", ["--report", "--xlsx"])
    def test_what_is_not_ours_stays(self, job: Path, tmp_path: Path, option: str) -> None:
        for content in ("mine", "", "<!DOCTYPE html>\n<html>"):
            path = tmp_path / "mine"
            path.write_text(content)
            code, out, err = self.run(job, option, path)
            assert (code, out) == (2, "")
            assert err.startswith(f"error: {path} exists and is no ")
            assert "\nhint: " in err
            assert path.read_text() == content

    @pytest.mark.parametrize("option", ["--report", "--xlsx", "--plots"])
    def test_a_folder_that_is_not_there(self, job: Path, tmp_path: Path, option: str) -> None:
        code, out, err = self.run(job, option, tmp_path / "none" / "out")
        assert (code, out) == (2, "")
        assert err == f"error: there is no directory {tmp_path}/none for out\nhint: make it first\n"

    def test_a_folder_is_no_file_and_a_file_no_folder(self, job: Path, tmp_path: Path) -> None:
        for option in ("--report", "--xlsx"):
            assert "is a directory" in self.run(job, option, tmp_path)[2]
        assert "is not a directory" in self.run(job, "--plots", job)[2]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--report", "out", "--xlsx", "./out"], "--report and --xlsx name the same file"),
            (["--report", "out", "--plots", "out"], "--report and --plots name the same file"),
            (["--report", "out.xlsx"], "--report out.xlsx ends as what --xlsx writes"),
            (["--xlsx", "out.html"], "--xlsx out.html ends as what --report writes"),
            (
                ["--report", "out.txt"],
                "out.txt does not end in .html, as a report does",
            ),
            (
                ["--xlsx", "out"],
                "hint: name it out.xlsx",
            ),
        ],
        ids=" ".join,
    )
    def test_each_has_a_name_of_its_own(self, job: Path, words: list[str], message: str) -> None:
        code, out, err = self.run(job, *words)
        assert (code, out) == (2, "")
        assert message in err

    def test_a_picture_of_another_program_is_seen_before_the_run(
        self, job: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "holiday.png").write_bytes(b"mine")
        code, out, err = self.run(job, "--plots", tmp_path)
        assert (code, out) == (2, "")
        assert "holiday.png exists and is no picture of penstock" in err

    def test_a_link_goes_on_pointing(self, little: penstock.Comparison, tmp_path: Path) -> None:
        link = tmp_path / "latest.html"
        link.symlink_to(tmp_path / "real.html")
        little.save_report(link)
        assert link.is_symlink()
        assert Page((tmp_path / "real.html").read_text()).comparison()
        little.save_report(link)
        assert link.is_symlink()

    def test_what_was_there_stays_until_all_is_written(
        self, little: penstock.Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "out.html"
        little.save_report(path)
        before = path.read_text()

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(penstock.PenstockError, match="No space left on device") as caught:
            little.save_report(path)
        assert caught.value.exit_code == 1
        assert path.read_text() == before
        assert [one.name for one in tmp_path.iterdir()] == ["out.html"]


ROUNDS = ("alone:tellers", "noop", "size-priority")


@pytest.fixture(scope="module")
def repeated() -> penstock.Comparison:
    """Three rounds on a model, the first policy without the batch."""
    return penstock.compare(penstock.Job.from_toml(JOB), policies=ROUNDS, repeat=3)


@pytest.fixture(scope="module")
def drawn(repeated: penstock.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Their report."""
    path = tmp_path_factory.mktemp("rounds") / "out.html"
    repeated.save_report(path)
    return Page(path.read_text())


class TestRounds:
    """Rounds in a page: all figures, and of each policy one round drawn."""

    def test_its_data_has_every_round_and_the_detail_of_what_is_drawn(
        self, drawn: Page, repeated: penstock.Comparison
    ) -> None:
        data = json.loads(drawn.data)
        assert data["comparison"] == json.loads(repeated.to_json())
        for policy, one in zip(ROUNDS, data["detail"], strict=True):
            runs = sorted(repeated.of(policy), key=lambda run: run["tellers"].lat_ns.p99)
            assert (one["policy"], one["round"]) == (policy, runs[1].round)

    def test_it_reports_medians_and_ranges_and_which_rounds_are_drawn(self, drawn: Page) -> None:
        words = " ".join(drawn.words.split())
        assert "Rounds 3 rounds, seeds 7–9" in words
        assert "each figure is the median [least–greatest] of the rounds" in words
        assert re.search(r"in the middle .*: alone:tellers seed \d, noop seed \d, size-", words)
        assert re.search(r">\d[\d.]+ \[[\d.]+–[\d.]+\] ms<", drawn.text)

    def test_its_pictures_show_every_round(
        self, drawn: Page, repeated: penstock.Comparison
    ) -> None:
        assert drawn.pictures()[:4] == [
            "tradeoff",
            "rounds-tellers",
            "rounds-batch",
            "latency-tellers",
        ]
        assert list(drawn.requests()) == []
        ticks = drawn.picture("rounds-tellers").axis("x")
        marks = drawn.picture("rounds-tellers").marks()
        found = sorted(read_off(ticks, mark.points[0][0], log=True) for mark in marks)
        known = sorted(run["tellers"].lat_ns.p99 for run in repeated.runs)
        assert found == pytest.approx(known, rel=0.02)

    def test_a_class_is_drawn_under_the_policies_in_which_it_took_part(self, drawn: Page) -> None:
        rows = re.findall(r'<th scope="row">([^<]+)</th>', figures(drawn))
        assert rows == [*ROUNDS, *ROUNDS[1:]]
        colours = {mark.colour for mark in drawn.picture("rounds-batch").marks()}
        assert colours == {one.light for one in palette.POLICIES[1:3]}


def test_an_emulated_run_says_so(tmp_path: Path) -> None:
    job, words = penstock.Job.from_toml(JOB), {"duration": "500ms"}
    result = penstock.compare(job, policies=["noop"], on="emulated:hdd-7200@20", set=words)
    result.save_report(tmp_path / "out.html")
    page = Page((tmp_path / "out.html").read_text())
    said = " ".join(page.words.split())
    for words_said in (
        "EMULATED",
        "(a model that answers in real time)",
        "A model of the device answers in real time: ",
        "the model answered late by p50 ",
    ):
        assert words_said in said
    assert page.comparison() == judged(result)


def test_of_many_policies_each_has_a_panel(tmp_path: Path) -> None:
    policies = ["fcfs", "noop", "deadline", "look"]
    assert len(policies) > charts.TOGETHER
    result = penstock.compare(penstock.Job.from_toml(ONE_CLASS), policies=policies)
    result.save_report(tmp_path / "out.html")
    page = Page((tmp_path / "out.html").read_text())
    for kind in ("percentiles", "throughput"):
        words = page.picture(f"{kind}-tellers").words()
        assert [word for word in words if word in policies] == policies
