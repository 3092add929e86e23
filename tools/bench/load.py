# SPDX-License-Identifier: Apache-2.0
"""Many runs in one call of vmrun."""
from run import VMRUN, Folder, Memory, timed

LAB = "--timeout 3000 --memory 4G"

KEYS = {
    "load_runs": ("", "runs in one call"),
    "load_jobs": ("", "--jobs of that call"),
    "load_failures": ("", "runs whose verdict or output was wrong: 0"),
    "load_wall_s_per_run": ("s", "wall time of the call over its runs"),
    "load_cpu_s_per_run": ("s", "user + system of all processes over the runs"),
    "load_parent_peak_rss_kib": ("KiB", "the largest vmrun process, the batch's parent included"),
}

# (runs, jobs)
SIZES = {"full": (64, 8), "tiny": (2, 2)}


def is_right(folder, number):
    try:
        result = folder.result(f"t{number}", folder.path + "/all")
        with open(f"{folder.path}/all/t{number}/stdout", encoding="ascii") as file:
            return result["status"] == "ok" and file.read() == f"{number}\n"
    except OSError:
        return False


def measure(size):
    runs, jobs = SIZES[size]
    with Folder() as folder, Memory() as memory:
        command = [VMRUN, "--jobs", str(jobs), "--output", folder.path + "/all", "-q"]
        for number in range(runs):
            command += ["--config", folder.task(f"t{number}", f"echo {number}")]
        wall, cpu, _ = timed(command)
        wrong = sum(not is_right(folder, number) for number in range(runs))
    return {
        "load_runs": runs,
        "load_jobs": jobs,
        "load_failures": wrong,
        "load_wall_s_per_run": wall / runs,
        "load_cpu_s_per_run": cpu / runs,
        "load_parent_peak_rss_kib": memory.peaks.get("vmrun"),
    }
