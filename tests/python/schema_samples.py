"""Jobs as small as can be, which have every key of jobs and devices between them."""

BASE = """
duration = "10s"
[class.a]
[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed" }
"""
"""As little as a job has; its device may follow."""

FILES = """
duration = "10s"
device = "hdd-7200"
[class.a]
[[file]]
name = "data"
count = 2
size = "1GiB"
at = "5%"
on = { 1 = "flash" }
[[file]]
name = "log"
size = "1MiB"
device = { model = "fixed", base = "1ms" }
[[agent]]
class = "a"
file = ["data.1", "log"]
copies = 2
share = "slices"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed" }
"""

SHARED = """
duration = "10s"
[device]
disk0 = "hdd-7200"
[device.disk1]
model = "fixed"
base = "1ms"
[class.a]
[[file]]
name = "data"
count = 2
size = "1GiB"
device = "disk0"
on = { 1 = "disk1" }
[[file]]
name = "log"
size = "1MiB"
device = "disk1"
[[agent]]
class = "a"
file = ["data", "log"]
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed" }
"""

AGENTS = """
seed = 3
duration = "10s"
warmup = "1s"
stop = "drained"
max_outstanding = 4096

[class.a]
weight = 2
prio = 1

[[agent]]
class = "a"
op = "write"
sync = true
cache = "buffered"
size = "4KiB"
pattern = "random"
region = ["0%", "1GiB"]
arrivals = { kind = "poisson", rate = "20/s", curve = [1, 0.5] }
start = "1s"
stop = "9s"

[[agent]]
class = "a"
op = "read"
size = "1MiB"
pattern = "sequential"
align = "4KiB"
first = "50%"
gap = "4KiB"
growth = { every = 100, size = "4KiB", gap = "1KiB" }
arrivals = { kind = "closed", depth = 4, think = "1ms", burst = 8, count = 500 }

[[agent]]
class = "a"
op = "write"
size = "1MiB"
pattern = "sequential"
arrivals = { kind = "turns", count = 10 }

[live]
depth = 8
batch = 2
timeout = "10s"
view = { start = "1MiB", length = "1GiB" }

[page_cache]
memory = "256MiB"
base = "2us"
per_mb = "50us"
dirty_background_ratio = "5%"
dirty_ratio = "10%"
dirty_expire = "1s"
dirty_writeback = "0.5s"
read_ahead = "64KiB"

[device]
name = "disk"
summary = "a disk"
model = "hdd"
drive = "ibm18es"
overheads = "0.3ms"
bus = "none"
cache = { segments = 2, blocks = 16 }
readahead = "8KiB"
write_back = true
turnaround = "1ms"
queue = { policy = "deadline", depth = 16, overhead = "in-service", fifo_batch = 4 }
faults = { errors = "0.1%", stalls = "0.5%", stall = "50ms" }
array = { level="raid0", disks=8, stripe="16KiB", max_extent="1MiB", depth=64, phase="random" }
"""

MIXED = f"""
{AGENTS.partition("[[agent]]")[0].replace('duration = "10s"', "").replace('stop = "drained"', "")}
[[agent]]
class = "a"
mix = 0.7
flush = 100
call = "async"
buffers = 16
size = [["4KiB", 60], ["64KiB", 40]]
pattern = "random"
spread = {{ zipf = {{ theta = 1.2 }} }}
total = "1GiB"
arrivals = {{ kind = "closed", think = {{ exponential = "5ms" }} }}

[[agent]]
class = "a"
op = "trim"
size = "4KiB"
pattern = "random"
spread = {{ pareto = {{ h = 0.2 }} }}
count = 100

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {{ normal = {{ mean = "50%", dev = "5%" }} }}
passes = 2

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {{ poisson = {{ mean = "1MiB" }} }}
arrivals = {{ kind = "fixed", rate = "9/s", count = 8 }}
call = "sync"

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
stop = "5s"

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {{ zoned = [["10%", 60], ["90%", 40]] }}
count = 100

[[agent]]
class = "a"
op = "write"
size = "4KiB"
pattern = "backwards"
stride = "64KiB"
passes = 1

[device]
model = "fixed"
base = "1ms"
"""

GEOMETRY = f"""
{BASE}
[device]
model = "hdd"
overheads = "drive"
bus = "none"
queue = {{ policy = "sstf", depth = 16, distance = "cylinders" }}

[device.drive]
cylinders = 100
heads = 5
rpm = 7200
capacity = "3MB"
track_skew = "1.2ms"
cylinder_skew = "2.2ms"
head_switch = "1ms"
write_settle = "0.1ms"
read_overhead = "0.2ms"
read_overhead_after_write = "0.3ms"
write_overhead = "0.4ms"
write_overhead_after_write = "0.5ms"
zones = [{{ first = 0, last = 59, sectors = 16 }}, {{ first = 60, last = 99, sectors = 8 }}]
seek = {{ single = "1ms", knee = 40, at_knee = "3ms", full = "13ms" }}
"""

MEASURED = (
    GEOMETRY.partition("seek =")[0]
    + 'seek = [{ distance = 1, takes = "1ms" }, { distance = 99, takes = "13ms" }]\n'
)

TRACE = """
[trace]
file = "a.gz"
format = "blkparse"
timing = { speed = 2 }
fit = "wrap"

[class.a]

[[rule]]
class = "a"
process = ["x", "y"]
pid = 7
op = ["read", "flush"]
sync = true
min_size = "8KiB"
max_size = "1MiB"
range = ["0B", "1GiB"]

[device]
model = "fixed"
base = "1ms"
per_mb = "2ms"
capacity = "1GiB"
array = { level = "raid5", disks = 8 }
"""

MAPPED = f"""
{TRACE.partition("[device]")[0]}
[trace.on.sda]
model = "fixed"
base = "1ms"

[trace.on."hm.1"]
name = "disk"
model = "hdd"
drive = "ibm18es"
"""

UNITS = f"""
{BASE}
[device]
model = "fixed"
unit = "1ms"
unit_bytes = "10kB"
"""

PROGRAMS = f"""
stop = "done:a"
{AGENTS.partition("[[agent]]")[0].replace('stop = "drained"', "")}
[cpu]
count = 4
slice = "10ms"
order = "priority"
preempt = true
pick = "lowest"

[[program]]
class = "a"
phases = [{{ cpu = "5ms" }}, {{ read = "4KiB" }}, {{ write = "4KiB" }}]
repeat = 2
pattern = "random"
region = ["0%", "1GiB"]
arrivals = {{ kind = "groups", offsets = ["0ms", "1ms"], period = "200ms" }}
start = "1s"
stop = "9s"

[[program]]
class = "a"
phases = [{{ cpu = "1ms" }}]
arrivals = {{ kind = "poisson", rate = "20/s" }}

[[program]]
class = "a"
phases = [{{ cpu = "1ms" }}]
arrivals = {{ kind = "once", count = 4, stagger = "1ms" }}

[device]
model = "fixed"
unit = "1ms"
unit_bytes = "10kB"
"""

FLASH = f"""
{BASE}
[device]
model = "ssd"
capacity = "1TB"
dies = 16
channels = 4
page = "16KiB"
planes = 2
block_pages = 768
read_time = "60us"
program_time = "0.7ms"
erase_time = "5ms"
suspend_time = "20us"
channel_rate = "1GB/s"
link_rate = "550MB/s"
link_duplex = "half"
link_overhead = "2us"
command_overhead = "20us"
command_interval = "1us"
write_buffer = "8MiB"
power_loss_protection = true
over_provisioning = "9%"
queue_depth = 32
"""

MERGES = """
seed = 3
stop = "20s"

[merge]
jobs = 3
runs = 4
run = "1000blocks"
block = "8KiB"
read = 5
write = 7
placement = "separate"
layout = "output-middle"
memory = { partition = 90 }
when_full = "defer"
depletion = { keys = 64 }
stagger = "2s"
cpu = "1us"

[device]
model = "fixed"
base = "1ms"
array = { level = "jbod", disks = 4, scheduler = "each" }
"""

LISTED = """
[merge]
jobs = 2
placement = [{ inputs = [1, 2], output = 0 }, { inputs = [1], output = 1 }]

[class.a]
[class.b]
"""

LINEAR = f"""
{BASE}
[device]
model = "linear"
seek = "40us"
turn = "16ms"
latency = "constant"
transfer = "1ms"
block = "4KiB"
per_cylinder = 64
capacity = "1GiB"
"""

SHEET = f"""
{BASE}
[device]
model = "hdd"
[device.drive]
capacity = "4TB"
rpm = 7200
single_seek = "0.8ms"
average_seek = "8.5ms"
full_seek = "16ms"
outer_rate = "200MB/s"
inner_rate = "95MB/s"
heads = 10
head_switch = "0.5ms"
write_settle = "0.1ms"
buffer = "128MiB"
"""

SAMPLES = {
    "agents": AGENTS,
    "files": FILES,
    "shared": SHARED,
    "mixed": MIXED,
    "trace": TRACE,
    "mapped": MAPPED,
    "units": UNITS,
    "flash": FLASH,
    "geometry": GEOMETRY,
    "measured": MEASURED,
    "linear": LINEAR,
    "merges": MERGES,
    "listed": LISTED,
    "sheet": SHEET,
    "programs": PROGRAMS,
}
