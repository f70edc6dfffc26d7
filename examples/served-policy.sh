#!/bin/sh
# A policy under unchanged programs: SQLite commits fifty times a second while large files are copied, on a device
# that serves a file through a policy; first where it only passes everything on, then where short requests go first.
#
#   sudo examples/served-policy.sh [FOLDER] [SECONDS]     /var/tmp and 8 if not given
#
# Needs mkfs.ext4, python3 with SQLite, and penstock on the PATH or as $PENSTOCK. Nothing is left behind.
set -eu

folder=${1:-/var/tmp}
seconds=${2:-8}
penstock=${PENSTOCK:-penstock}
work=$(mktemp -d "$folder/served-policy.XXXXXX")
server=
flood=

stopped() {
    if [ -n "$flood" ]; then
        kill -s KILL -- "-$flood" 2>/dev/null || true
        # The kernel finishes the writes of a killed program before that ends.
        while kill -s 0 -- "-$flood" 2>/dev/null; do sleep 0.1; done
        flood=
    fi
    mountpoint -q "$work/mnt" && umount "$work/mnt"
    [ -z "$server" ] || { kill "$server" && wait "$server" || true; }
    server=
}
down() {
    trap - EXIT
    stopped
    rm -rf "$work"
}
trap down EXIT
trap 'exit 130' INT TERM HUP

mkdir "$work/mnt"
cat >"$work/commit.py" <<'PYTHON'
"""Commit fifty times a second for some seconds, and say what was seen."""
import sqlite3
import sys
import time

name, path, seconds = sys.argv[1:]
database = sqlite3.connect(path, isolation_level=None)
database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
database.execute("CREATE TABLE IF NOT EXISTS entries (number, text)")
began, times = time.monotonic(), []
for number in range(50 * int(seconds)):
    due = began + number / 50
    time.sleep(max(due - time.monotonic(), 0))
    if time.monotonic() - began > int(seconds):
        break
    database.execute("INSERT INTO entries VALUES (?, ?)", (number, "x" * 200))
    times.append(1e3 * (time.monotonic() - due))
times.sort()
shown = [times[int(rank * len(times))] for rank in (0.5, 0.99)]
print(f"{name:28} {shown[0]:10.1f} {shown[1]:10.1f} {len(times) / (50 * int(seconds)):12.0%}", end="")
PYTHON

# Each copy writes its file again and again, past the page cache, in a group of processes of their own.
cat >"$work/copies.sh" <<'SHELL'
for copy in 1 2 3 4; do
    (while :; do dd if=/dev/zero "of=$1/copy-$copy" bs=1M count=256 oflag=direct conv=notrunc; done) &
done
wait
SHELL

written() { awk '{ print $7 }' "/sys/block/${node#/dev/}/stat"; }

printf '%-28s %10s %10s %12s %12s\n' commits 'p50 ms' 'p99 ms' 'of those due' 'copies MB/s'
for policy in noop size-priority; do
    rm -f "$work/image" "$work/node"
    "$penstock" serve "$work/image" --create 3GiB --policy "$policy" >"$work/node" 2>"$work/said" &
    server=$!
    until [ -s "$work/node" ]; do
        kill -s 0 "$server" 2>/dev/null || { cat "$work/said" >&2; exit 77; }
        sleep 0.1
    done
    node=$(cat "$work/node")
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$node"
    mount "$node" "$work/mnt"
    python3 "$work/commit.py" "$policy, alone" "$work/mnt/database" "$seconds"
    echo
    setsid sh "$work/copies.sh" "$work/mnt" >/dev/null 2>&1 &
    flood=$!
    sleep 3
    before=$(written)
    python3 "$work/commit.py" "$policy, with copies" "$work/mnt/database" "$seconds"
    echo "$(written) $before $seconds" | awk '{ printf " %12.0f\n", ($1 - $2) * 512 / 1e6 / $3 }'
    stopped
done
