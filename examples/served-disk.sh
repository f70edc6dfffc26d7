#!/bin/sh
# Unchanged programs on a modelled disk, under the kernel's own schedulers: a program that writes 4 KiB and
# waits until they are durable, thirty times a second, beside a copy of a large file, both on ext4.
#
#   sudo examples/served-disk.sh [DEVICE] [SECONDS]     hdd-7200 and 10 if not given
#
# Needs fio, mkfs.ext4, python3, and penstock on the PATH or as $PENSTOCK. Nothing is left behind.
set -eu

device=${1:-hdd-7200}
seconds=${2:-10}
penstock=${PENSTOCK:-penstock}
work=$(mktemp -d)
node=
server=

down() {
    trap - EXIT
    mountpoint -q "$work/mnt" && umount "$work/mnt"
    [ -z "$server" ] || { kill "$server" && wait "$server" || true; }
    rm -rf "$work"
}
trap down EXIT
trap 'exit 130' INT TERM HUP

mkdir "$work/mnt"
: >"$work/node"
# A queue of 4 at the device leaves something to decide to the scheduler.
"$penstock" serve "$device" --size 4GiB --depth 4 >"$work/node" 2>"$work/said" &
server=$!
for _ in $(seq 100); do
    node=$(cat "$work/node")
    [ -z "$node" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$work/said" >&2; exit 77; }
    sleep 0.1
done

printf '%-12s %14s %14s %14s %16s\n' scheduler 'sync writes/s' 'mean ms' 'p99 ms' 'copy MB/s'
for scheduler in none mq-deadline bfq; do
    "$penstock" linux set "$node" "$scheduler" >"$work/set"
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$node"
    mount "$node" "$work/mnt"
    fio --output-format=json --output="$work/result" --time_based --runtime="$seconds" \
        --directory="$work/mnt" --ioengine=psync \
        --name=log --rw=write --bs=4k --size=64m --rate_iops=30 --fdatasync=1 \
        --name=copy --rw=write --bs=1m --size=512m --end_fsync=1
    umount "$work/mnt"
    python3 - "$scheduler" "$work/result" <<'PYTHON'
import json
import sys

scheduler, path = sys.argv[1:]
log, copy = json.load(open(path))["jobs"]
sync = log["sync"]["lat_ns"]
tail = sync["percentile"]["99.000000"] / 1e6
rate = log["write"]["total_ios"] / (log["job_runtime"] / 1e3)
moved = copy["write"]["io_kbytes"] * 1024 / (copy["job_runtime"] / 1e3) / 1e6
print(f"{scheduler:12} {rate:14.1f} {sync['mean'] / 1e6:14.1f} {tail:14.1f} {moved:16.1f}")
PYTHON
done
