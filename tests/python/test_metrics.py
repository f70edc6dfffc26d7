"""Metrics in the text format of Prometheus, in files and over HTTP."""

import json
import math
import re
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import ROOT, penstock
from exposed import checked
from penstock.errors import UNSAFE_TARGET, WRONG_INPUT, PenstockError
from penstock.metrics.by_class import METRICS, ClassTotals, of_classes
from penstock.metrics.outlet import outlet
from penstock.metrics.text import Metric, Sample, exposition
from penstock.results.buckets import LatencyBuckets

LATENCY = LatencyBuckets(count=4, sum_ns=9_020_000, upto_ns=[(10_000, 1), (1_000_000, 3)])


def ratio(value: float, **labels: str) -> Metric:
    return Metric("penstock_a_ratio", "gauge", "One.", [Sample(labels, value)])


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])), st.floats())
def test_labels_and_values_come_back_as_they_were(label: str, value: float) -> None:
    label = f'{label}\\"\n'
    exposed = checked(exposition([ratio(value, label=label)]))
    read = exposed.value("penstock_a_ratio", label=label)
    assert read == value or (math.isnan(read) and math.isnan(value))


def test_a_metric_without_samples_is_left_out_and_labels_may_be_missing() -> None:
    text = exposition([Metric("b_total", "counter", "None.", []), ratio(2)])
    assert text == (
        "# HELP penstock_a_ratio One.\n# TYPE penstock_a_ratio gauge\npenstock_a_ratio 2\n"
    )
    assert checked(text).value("penstock_a_ratio") == 2


def test_a_histogram_is_cumulative_and_in_seconds() -> None:
    samples = [Sample({"class": "tellers"}, LATENCY)]
    text = exposition([Metric("penstock_latency_seconds", "histogram", "Time.", samples)])
    assert text.splitlines()[2:] == [
        'penstock_latency_seconds_bucket{class="tellers",le="1e-05"} 1',
        'penstock_latency_seconds_bucket{class="tellers",le="0.001"} 3',
        'penstock_latency_seconds_bucket{class="tellers",le="+Inf"} 4',
        'penstock_latency_seconds_sum{class="tellers"} 0.00902',
        'penstock_latency_seconds_count{class="tellers"} 4',
    ]
    checked(text)


def test_what_a_source_does_not_know_of_a_class_is_left_out() -> None:
    totals = ClassTotals(labels={"class": "a"}, requests=4, bytes=16, latency=LATENCY, queued=0)
    exposed = checked(exposition(of_classes("guard", "sda", [totals])))
    assert exposed.kinds == {
        "penstock_requests_total": "counter",
        "penstock_bytes_total": "counter",
        "penstock_latency_seconds": "histogram",
        "penstock_queued_requests": "gauge",
    }
    labels = {"source": "guard", "target": "sda", "class": "a"}
    assert exposed.value("penstock_bytes_total", **labels) == 16
    assert (
        "penstock_queued_requests"
        not in checked(exposition(of_classes("guard", "sda", [totals.ended()]))).kinds
    )


def test_a_file_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "penstock.prom"
    for value in (1, 2):
        place = outlet(str(path))
        place.open()
        place.put([ratio(value)])
        place.close()
    assert checked(path.read_text()).value("penstock_a_ratio") == 2
    assert list(tmp_path.iterdir()) == [path]
    path.write_text("# HELP node_a One.\n")
    with pytest.raises(PenstockError, match="exists and is no metrics file of penstock") as error:
        outlet(str(path))
    assert error.value.exit_code == WRONG_INPUT


def test_a_file_has_what_is_collected_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "penstock.prom"
    place, values = outlet(str(path)), iter(range(1, 1_000))
    place.open()
    place.follow(lambda: [ratio(next(values))])
    place.close()
    assert checked(path.read_text()).value("penstock_a_ratio") == 2, "the first, and the last"
    place.close()


class Answered(NamedTuple):
    """An answer of a server."""

    status: int
    kind: str | None
    text: str


def ask(
    port: int, path: str = "/metrics", *, method: str = "GET", host: str = "127.0.0.1"
) -> Answered:
    client = HTTPConnection(host, port, timeout=20)
    try:
        client.request(method, path)
        answer = client.getresponse()
        return Answered(answer.status, answer.getheader("Content-Type"), answer.read().decode())
    finally:
        client.close()


def free_port(host: str = "127.0.0.1", family: int = socket.AF_INET) -> int:
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind((host, 0))
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_an_address_answers_with_the_metrics_of_the_moment() -> None:
    port = free_port()
    place = outlet(f"127.0.0.1:{port}")
    place.open()
    try:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        assert ask(port) == (200, kind, ""), "nothing is measured yet"
        place.put([ratio(1, label="é")])
        assert checked(ask(port).text).value("penstock_a_ratio", label="é") == 1
        assert ask(port, "/metrics?x=1").status == 200
        values = iter(range(2, 10))
        place.follow(lambda: [ratio(next(values))])
        assert [checked(ask(port).text).value("penstock_a_ratio") for _ in range(2)] == [2, 3]
        assert ask(port, method="HEAD") == (200, kind, "")
        assert ask(port, "/") == (404, kind, "metrics are at /metrics\n")
        assert ask(port, method="POST").status == 501
    finally:
        place.close()
    with pytest.raises(ConnectionRefusedError):
        ask(port)
    place.close()


def test_an_error_of_what_is_collected_is_the_answer() -> None:
    port = free_port()
    place = outlet(f"127.0.0.1:{port}")
    place.open()

    def fails() -> list[Metric]:
        raise OSError("the gate was opened by process 1")

    try:
        place.follow(fails)
        status, _, text = ask(port)
        assert (status, text) == (500, "the gate was opened by process 1\n")
    finally:
        place.close()


def test_a_client_that_says_nothing_holds_up_neither_others_nor_the_end() -> None:
    port = free_port()
    place = outlet(f"127.0.0.1:{port}")
    place.open()
    with socket.create_connection(("127.0.0.1", port)):
        assert ask(port).status == 200
        place.close()
    assert not [it for it in threading.enumerate() if it.name == "penstock-metrics"]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_an_address_of_ipv6_is_in_brackets_and_no_other_is_bound() -> None:
    try:
        port = free_port("::1", socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    place = outlet(f"[::1]:{port}")
    place.open()
    try:
        assert ask(port, host="::1").status == 200
        with pytest.raises(ConnectionRefusedError):
            ask(port)
    finally:
        place.close()


PLACES = {
    "9464": "found 9464, which may be a port or a file; expected HOST:PORT or a file\n"
    "hint: name the host too, as 127.0.0.1:9464, or the file's folder, as ./9464",
    ":9464": "found :9464; expected a host before the colon\n"
    "hint: 127.0.0.1 is this machine alone, 0.0.0.0 every address of IPv4",
    "localhost:http": "found localhost:http; expected a port from 1 to 65,535 after the colon\n"
    "hint: as 127.0.0.1:9464; a file with a colon in its name needs its folder, as "
    "./localhost:http",
    "localhost:": "found localhost:; expected a port from 1 to 65,535 after the colon",
    "localhost:0": "found localhost:0; expected a port from 1 to 65,535 after the colon",
    "localhost:65536": "found localhost:65536; expected a port from 1 to 65,535 after the colon",
    "localhost:٣": "expected a port from 1 to 65,535 after the colon",
    "::1:9464": "found ::1:9464; expected an address of IPv6 in brackets\nhint: as [::1]:9464",
    "gone/a.prom": "there is no directory gone for a.prom\nhint: make it first",
    ".": ". is a directory\nhint: name a file for the metrics file",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_is_none_is_refused_before_anything_runs(job: Path, place: str) -> None:
    ended = penstock("watch", job, "--policies", "noop", "--metrics", place)
    assert (ended.code, ended.out) == (WRONG_INPUT, "")
    assert ended.err.startswith("error: ")
    assert PLACES[place] in ended.err


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("no-such-host.invalid", "the host no-such-host.invalid of the metrics is not found: "),
        ("a" * 70, "of the metrics is not found: it is no name of a host"),
        ("192.0.2.1", "192.0.2.1 is no address of this machine"),
    ],
)
def test_a_host_that_is_none_of_this_machine_is_refused(job: Path, host: str, said: str) -> None:
    ended = penstock("watch", job, "--policies", "noop", "--metrics", f"{host}:9464")
    assert (ended.code, ended.out) == (WRONG_INPUT, ""), ended.err
    assert said in ended.err
    assert "hint: name" in ended.err


def test_a_port_in_use_is_refused(job: Path, busy_port: int) -> None:
    ended = penstock("watch", job, "--policies", "noop", "--metrics", f"127.0.0.1:{busy_port}")
    assert (ended.code, ended.out) == (UNSAFE_TARGET, "")
    assert ended.err == (
        f"error: metrics cannot be served at 127.0.0.1:{busy_port}: the port is in use\n"
        "hint: name another port, or end what uses it\n"
    )


def test_every_metric_of_the_dashboard_is_written() -> None:
    """A panel with a name that nothing writes stays empty without a word."""
    dashboard = json.loads((ROOT / "examples/grafana.json").read_text())
    totals = ClassTotals(
        labels={"policy": "noop", "class": "a", "direction": "read"},
        requests=4,
        bytes=16,
        latency=LATENCY,
        errors=0,
        outstanding=2,
        queued=1,
        in_flight=1,
    )
    exposed = checked(exposition(of_classes("served", "disk.img", [totals])))
    names = {name for name, _ in exposed.values}
    labels = {label for _, pairs in exposed.values for label, _ in pairs}
    (source,) = (it for it in dashboard["templating"]["list"] if it["type"] == "datasource")
    assert (source["name"], source["query"]) == ("datasource", "prometheus")
    used = set()
    for panel in dashboard["panels"]:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            expression = target["expr"]
            metrics = set(re.findall(r"penstock_\w+", expression))
            assert metrics
            assert metrics <= names, expression
            (by,) = re.findall(r"sum by \(([^)]*)\)", expression)
            selected = re.findall(r'(\w+)=~?"', expression)
            assert {*by.split(", "), *selected} <= labels, expression
            used |= metrics
    assert used == {
        "penstock_requests_total",
        "penstock_bytes_total",
        "penstock_latency_seconds_bucket",
        "penstock_queued_requests",
        "penstock_in_flight_requests",
        "penstock_outstanding_requests",
        "penstock_failed_requests_total",
    }
    assert len(used) == len(METRICS)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
