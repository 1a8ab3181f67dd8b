"""Time a fresh process that imports the package and repairs one payload, against json_repair.

    python tests/bench/cold.py [--runs N] [--imports]

Runs are interleaved with those of json_repair and of an interpreter that does nothing, after
unmeasured runs that compile the modules and warm the file cache. Both libraries must be importable
from here; `PYTHONPATH` is handed on. With ``--imports``, tells what the time is spent on: the
import, the first and the second call, and the modules that take longest to import.
"""

import argparse
import json
import operator
import os
import re
import statistics
import subprocess
import sys
from time import perf_counter
from typing import Final

PAYLOAD: Final = '{"path": "src/app.py", "edits": [{"line": 3, "new": "x = 1"}, {"new": "y"'
VALUE: Final = json.loads(PAYLOAD + "}]}")

BARE: Final = "bare interpreter"
OURS: Final = "jsonrepair_lark"
PEER: Final = "json_repair"
CALLS: Final = {
    OURS: f"jsonrepair_lark.repair({PAYLOAD!r}).value",
    PEER: f"json_repair.loads({PAYLOAD!r})",
}
PROGRAMS: Final = {
    BARE: "pass",
    **{name: f"import {name}\nassert {call} == {VALUE!r}" for name, call in CALLS.items()},
}
STEPS: Final = """
from time import perf_counter
start = perf_counter()
import {name}
imported = perf_counter()
{call}
first = perf_counter()
{call}
second = perf_counter()
print(imported - start, first - imported, second - first)
"""
IMPORT_LINE: Final = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| +(\S+)")  # microseconds, module
WARM_UP_RUNS: Final = 2
MODULES_SHOWN: Final = 15


def run(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter that may write and read compiled modules."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


def seconds_for(program: str) -> float:
    """Return how long a fresh interpreter takes for a program."""
    start = perf_counter()
    run(program)
    return perf_counter() - start


def import_times(program: str) -> dict[str, int]:
    """Return the microseconds that each module took to import, without those it imports."""
    log = run(program, "-X", "importtime").stderr
    return {module: int(time) for time, module in IMPORT_LINE.findall(log)}


def write_imports(name: str) -> None:
    """Tell what a library's cold start is spent on."""
    output = run(STEPS.format(name=name, call=CALLS[name])).stdout
    steps = [f"{float(step) * 1e3:.2f} ms" for step in output.split()]
    write = sys.stdout.write
    write(f"\n{name}: import {steps[0]}, first call {steps[1]}, second call {steps[2]}\n")
    bare = import_times(PROGRAMS[BARE])
    times = {k: v for k, v in import_times(PROGRAMS[name]).items() if k not in bare}
    packages: dict[str, int] = {}
    for module, time in times.items():
        package = module.partition(".")[0]
        packages[package] = packages.get(package, 0) + time
    write(f"{len(times)} modules, {sum(times.values()) / 1e3:.2f} ms of imports (as traced)\n")
    for title, table in (("package", packages), ("module, by itself", times)):
        write(f"{'ms':>10}  {title}\n")
        longest = sorted(table.items(), key=operator.itemgetter(1), reverse=True)
        for key, time in longest[:MODULES_SHOWN]:
            write(f"{time / 1e3:10.2f}  {key}\n")


def main() -> None:
    """Measure, and write a Markdown table."""
    parser = argparse.ArgumentParser(description="Time a cold start.")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--imports", action="store_true", help="tell what the time is spent on")
    arguments = parser.parse_args()
    for program in list(PROGRAMS.values()) * WARM_UP_RUNS:
        run(program)
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for turn in range(arguments.runs):
        for name in list(PROGRAMS)[:: 1 if turn % 2 else -1]:
            times[name].append(seconds_for(PROGRAMS[name]))
    sys.stdout.write("| fresh process | time | of json_repair | less bare interpreter |\n")
    sys.stdout.write("| :-- | --: | --: | --: |\n")
    for name, own in times.items():
        cells = [name, f"{statistics.median(own) * 1e3:.1f} ms"]
        runs = list(zip(own, times[PEER], times[BARE], strict=True))
        cells.append(f"{statistics.median(mine / peer for mine, peer, _ in runs):.2f}")
        net = statistics.median((mine - bare) / (peer - bare) for mine, peer, bare in runs)
        cells.append("" if name == BARE else f"{net:.2f}")
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.write(
        "\nMedian time of a process; median ratio to json_repair, and the same with the bare\n"
        "interpreter's time taken off both.\n"
    )
    if arguments.imports:
        write_imports(OURS)
        write_imports(PEER)


if __name__ == "__main__":
    main()
