# SPDX-License-Identifier: Apache-2.0
"""Task output on its way from write(2) in the guest to the log file on the host."""
import hashlib
import time

from run import MIB, VMRUN, Folder, Memory, less, median, ratio, say, timed

LAB = "--timeout 3000 --memory 4G"


def stream_keys(prefix):
    return {
        prefix + "_ratio_wall": ("", "cat's wall time per MiB over the task's: at least 0.3"),
        prefix + "_ratio_cpu": ("", "the same of CPU time: at least 0.3"),
        prefix + "_ratio_wall_whole": ("", "cat's over vmrun's: with the log's SHA-256 at the end"),
        prefix + "_ratio_cpu_less_digest": ("", "CPU, without what SHA-256 costs here"),
        prefix + "_cat_wall_s_per_mib": ("s/MiB", "cat, through a pipe into a file"),
        prefix + "_cat_cpu_s_per_mib": ("s/MiB", "user + system of head and cat"),
        prefix + "_task_s_per_mib": ("s/MiB", "head -c N /dev/zero in a task (time.run_ms), all kept"),
        prefix + "_wall_s_per_mib": ("s/MiB", "vmrun as a whole"),
        prefix + "_cpu_s_per_mib": ("s/MiB", "user + system of all of vmrun, the guest's included"),
        prefix + "_bytes_per_cpu_s": ("B/s", "the same the other way round: write(2) in the guest to "
                                             "the log on the host"),
        prefix + "_digest_cpu_s_per_mib": ("s/MiB", "SHA-256 by libcrypto, for result.json"),
        prefix + "_exits_per_mib": ("", "exits of the guest's vCPU, as the monitor counts them"),
    }


KEYS = {
    **stream_keys("output"),
    "supervisor_peak_rss_kib": ("KiB", "vmrun, while it shows what the task prints: at most 16384"),
    "scribe_peak_rss_kib": ("KiB", "vmrun-scribe, at the same time"),
    "monitor_rss_without_guest_kib": ("KiB", "vmrun-monitor, less the guest's RAM, at its end"),
}

# (small MiB, large MiB, rounds): the difference of the two is what streaming costs.
SIZES = {"full": (2, 66, 5), "tiny": (1, 2, 1)}


class Samples:
    def __init__(self):
        self.wall, self.cpu, self.exits, self.task = [], [], [], []


def run_cat(folder, mib, samples):
    wall, cpu, status = timed(
        ["sh", "-c", f"head -c {mib * MIB} /dev/zero | cat >{folder.path}/copy"])
    if status != 0:
        raise SystemExit("bench: cat failed")
    samples.wall.append(wall)
    samples.cpu.append(cpu)


def run_task(folder, mib, samples, options=("--json",)):
    """With --json the output goes to its file only, as in a batch."""
    name = f"stream-{mib}-{len(samples.wall)}{len(options)}"
    path = folder.task(name, f"head -c {mib * MIB} /dev/zero", stdout="256M")
    wall, cpu, status = timed([VMRUN, "--config", path, "-q", *options])
    result = folder.result("out-" + name)
    stream = result["streams"]["stdout"]
    if status != 0 or result["status"] != "ok" or stream["kept_bytes"] != mib * MIB:
        raise SystemExit(f"bench: the task failed: {result['status']}: {result['reason']}")
    samples.wall.append(wall)
    samples.cpu.append(cpu)
    samples.task.append(result["time"]["run_ms"] / 1000)
    samples.exits.append(result["monitor_claims"]["exits"])
    return result


def digest_cpu(mib):
    """CPU seconds per MiB of the same library on the same bytes."""
    block, digest = bytes(MIB), hashlib.sha256()
    began = time.process_time()
    for _ in range(mib):
        digest.update(block)
    return (time.process_time() - began) / mib


class Streams:
    """Both ways in turn, ROUNDS times; what a MiB costs."""

    def __init__(self, folder, small, large, rounds):
        self.small, self.large = small, large
        self.cat, self.task = ({mib: Samples() for mib in (small, large)} for _ in range(2))
        digest = []
        for number in range(rounds):
            say(f"output: round {number + 1} of {rounds}")
            for mib in (small, large):
                run_cat(folder, mib, self.cat[mib])
                run_task(folder, mib, self.task[mib])
            digest.append(digest_cpu(large))
        self.digest = median(digest)

    def slope(self, samples, what):
        """None when it was lost in the noise."""
        low, high = (median(getattr(samples[mib], what)) for mib in (self.small, self.large))
        return (high - low) / (self.large - self.small) if high > low else None

    def figures(self, prefix):
        cat_wall, wall = self.slope(self.cat, "wall"), self.slope(self.task, "wall")
        task = self.slope(self.task, "task")
        cat_cpu, cpu = self.slope(self.cat, "cpu"), self.slope(self.task, "cpu")
        return {
            prefix + "_ratio_wall": ratio(cat_wall, task),
            prefix + "_ratio_cpu": ratio(cat_cpu, cpu),
            prefix + "_ratio_wall_whole": ratio(cat_wall, wall),
            prefix + "_ratio_cpu_less_digest": ratio(cat_cpu, less(cpu, self.digest)),
            prefix + "_cat_wall_s_per_mib": cat_wall,
            prefix + "_cat_cpu_s_per_mib": cat_cpu,
            prefix + "_task_s_per_mib": task,
            prefix + "_wall_s_per_mib": wall,
            prefix + "_cpu_s_per_mib": cpu,
            prefix + "_bytes_per_cpu_s": ratio(MIB, cpu),
            prefix + "_digest_cpu_s_per_mib": self.digest,
            prefix + "_exits_per_mib": self.slope(self.task, "exits"),
        }


def measure(size):
    small, large, rounds = SIZES[size]
    with Folder() as folder:
        streams = Streams(folder, small, large, rounds)
        say("output: memory")
        with Memory() as memory:
            shown = run_task(folder, large, Samples(), options=())["host_measured"]
    return {
        **streams.figures("output"),
        "supervisor_peak_rss_kib": memory.peaks.get("vmrun"),
        "scribe_peak_rss_kib": memory.peaks.get("vmrun-scribe"),
        "monitor_rss_without_guest_kib": (shown["monitor_rss_without_guest_bytes"] or 0) // 1024
        or None,
    }
