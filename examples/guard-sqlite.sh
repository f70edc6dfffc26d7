#!/bin/sh
# Unchanged programs on one disk: SQLite commits fifty times a second beside four copies of large files, without
# and with a guard. The disk is a loop device, so nothing of this machine's own disks is set.
#
#   sudo examples/guard-sqlite.sh [FOLDER] [SECONDS]     /var/tmp and 8 if not given
#
# Needs mkfs.ext4, python3 with SQLite, and penstock on the PATH or as $PENSTOCK. Nothing is left behind.
set -eu

folder=${1:-/var/tmp}
seconds=${2:-8}
search=30
penstock=${PENSTOCK:-penstock}
work=$(mktemp -d "$folder/guard-sqlite.XXXXXX")
node=
flood=

down() {
    trap - EXIT
    if [ -n "$flood" ]; then
        kill -s KILL -- "-$flood" 2>/dev/null || true
        # The kernel finishes the writes of a killed program before that ends.
        while kill -s 0 -- "-$flood" 2>/dev/null; do sleep 0.1; done
    fi
    mountpoint -q "$work/mnt" && umount "$work/mnt"
    [ -z "$node" ] || losetup --detach "$node"
    rm -rf "$work"
}
trap down EXIT
trap 'exit 130' INT TERM HUP

mkdir "$work/mnt"
# Written, not only reserved: a first write to a place costs the file system below more than later ones.
dd if=/dev/zero "of=$work/image" bs=1M count=4096 oflag=direct status=none
node=$(losetup --find --show --direct-io=on "$work/image")
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$node"
mount "$node" "$work/mnt"

cat >"$work/commit.py" <<'PYTHON'
"""Commit fifty times a second for some seconds; say what was seen, the first seconds left out."""
import sqlite3
import sys
import time

name, path, seconds, left_out = sys.argv[1:]
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
    if due - began >= int(left_out):
        times.append(1e3 * (time.monotonic() - due))
times.sort()
share = len(times) / (50 * (int(seconds) - int(left_out)))
shown = [times[int(rank * len(times))] for rank in (0.5, 0.99)] if times else [float("nan")] * 2
print(f"{name:20} {shown[0]:10.1f} {shown[1]:10.1f} {share:12.0%}")
PYTHON

commit() { python3 "$work/commit.py" "$1" "$work/mnt/database" "$2" "$3"; }

printf '%-20s %10s %10s %12s\n' commits 'p50 ms' 'p99 ms' 'of those due'
commit alone "$seconds" 0

# Each copy writes its file again and again, past the page cache, in a group of processes of their own.
cat >"$work/copies.sh" <<'SHELL'
for copy in 1 2 3 4; do
    (while :; do dd if=/dev/zero "of=$1/copy-$copy" bs=1M count=256 oflag=direct conv=notrunc; done) &
done
wait
SHELL
setsid sh "$work/copies.sh" "$work/mnt" >/dev/null 2>&1 &
flood=$!
sleep 2
commit 'beside copies' "$seconds" 0

commit 'under a guard' "$((search + seconds))" "$search" &
online=$!
"$penstock" guard "${node#/dev/}" --online "pid:$online" --batch "pid:$flood" \
    --goal 'online.p99 <= 2ms' --keep 60% --for "$((search + seconds))s" >"$work/answer" 2>"$work/said" ||
    [ $? -eq 3 ] || cat "$work/said" >&2
wait "$online"
cat "$work/answer"
