# SPDX-License-Identifier: Apache-2.0
"""The parts of tools/isobench that decide, without a sandbox. Run: python3 -B -m unittest discover."""
import collections
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree as xml

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TREE + "/tools/isobench")

# pylint: disable=wrong-import-position
import compare
import harness
import hosttrace
import report
import results
from backends import Box, by_name, oci
from canary import Canaries
from limits import LIMITS
from rows import ROWS, containment
from rows.base import BACKENDS, FAMILIES, arrived, granted, held, lost, measured, not_run, shows_token
from rows.channels import BITS, ENOUGH, decode

ABOUT = {"profile": "short", "repeats": 1, "where": "lab", "seconds": 1,
         "host": {"release": "6.1", "version": "#1", "cpus": 1, "ram_bytes": 1 << 30}}


def trace_line(pid, event, number, rest):
    what = f"({rest})" if event == "enter" else f"= {rest}"
    return f"        isoprobe-{pid}     [000] .....   12.345678: sys_{event}: NR {number} {what}"


def document(verdicts, backends=("none", "vmrun")):
    return results.document(verdicts, [{"name": name, "version": "1", "not_run": None}
                                       for name in backends], ABOUT)


def cell(made, row_id, backend):
    row = next(row for row in made["rows"] if row["id"] == row_id)
    return next(cell for cell in row["cells"] if cell["backend"] == backend)


class Table(unittest.TestCase):
    def test_rows_are_many_distinct_and_complete(self):
        self.assertGreaterEqual(len(ROWS), 40)
        self.assertEqual(len({row.id for row in ROWS}), len(ROWS))
        self.assertEqual({row.family for row in ROWS}, set(FAMILIES))
        for row in ROWS:
            for backend in BACKENDS:
                self.assertIn(row.expected(backend), ("held", "lost", "measured", "either"))
            self.assertTrue(row.attacker and row.observed and row.lost, row.id)

    def test_readme_has_the_table(self):
        with open(TREE + "/tools/isobench/README.md", encoding="utf-8") as file:
            text = file.read()
        for row in ROWS:
            self.assertTrue(f"| `{row.id}` | {row.attacker} | {row.expect} |" in text, row.id)


class Trace(unittest.TestCase):
    def calls(self, *lines):
        return hosttrace.Calls("\n".join(lines))

    def test_calls_between_fences_belong_to_the_probe(self):
        calls = self.calls(
            trace_line(7, "exit", 321, 5),  # before
            trace_line(7, "enter", 3, "15b00004, 0, 0, 0, 0, 0"),
            trace_line(7, "exit", 3, -9),
            trace_line(8, "exit", 321, 6),  # another process
            trace_line(7, "exit", 321, -1),
            trace_line(7, "enter", 3, "15b00005, 0, 0, 0, 0, 0"),
            trace_line(7, "exit", 321, 9))  # behind
        self.assertEqual(calls.of_probe(2), [(3, -9), (321, -1)])
        self.assertIsNone(calls.of_probe(1))

    def test_a_sweep_counts_marked_calls_only(self):
        calls = self.calls(trace_line(7, "enter", 100, "ffffffffffffffff, 0, 0, 0, 15b0c4e7, 15b0c4e7"),
                           trace_line(7, "enter", 101, "0, 0, 0, 0, 0, 15b0c4e7"),
                           trace_line(7, "enter", 102, "0, 0, 0, 0, 0, 0"))
        self.assertEqual(calls.swept, {100})

    def test_granted_needs_success_on_the_host(self):
        fence = trace_line(7, "enter", 3, "15b00000, 0, 0, 0, 0, 0")
        judge = granted(321)
        for lines, wanted in (((fence, trace_line(7, "exit", 321, 4)), "lost"),
                              ((fence, trace_line(7, "exit", 321, 0)), "lost"),
                              ((fence, trace_line(7, "exit", 321, -1)), "held"),
                              ((fence, trace_line(7, "exit", 41, 4)), "held"), ((), "held")):
            seen = harness.Seen(trace=self.calls(*lines))
            self.assertEqual(judge(None, {"index": 0}, seen).outcome, wanted, lines)
        self.assertEqual(judge(None, {"index": 0}, harness.Seen()).outcome, "not_run")
        self.assertEqual(judge(None, None, harness.Seen(trace=self.calls())).outcome, "not_run")


    def test_past_the_check_of_rights_is_lost_whatever_fails_behind_it(self):
        judge = next(row.judge for row in ROWS if row.id == "reach.machine")
        fence = trace_line(7, "enter", 3, "15b00000, 0, 0, 0, 0, 0")
        for number, result, wanted in ((159, -22, "lost"), (159, -1, "held"), (175, -8, "lost"),
                                       (169, -22, "held"), (227, -22, "held")):
            seen = harness.Seen(trace=self.calls(fence, trace_line(7, "exit", number, result)))
            self.assertEqual(judge(None, {"index": 0}, seen).outcome, wanted, (number, result))


class Functions(unittest.TestCase):
    """trace/functions.c, on pages as the kernel's ring buffer has them."""
    program = TREE + "/build/isobench-bin/isofunctions"

    @staticmethod
    def entry(address, kind=1):
        return struct.pack("<IHBBiQQ", 24 // 4, kind, 0, 0, 7, address, 0xffff)

    @staticmethod
    def page(*entries, missed=False):
        data = b"".join(entries)
        return struct.pack("<QQ", 0, len(data) | missed << 31) + data.ljust(4080, b"\xee")

    def found(self, *pages):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(pages))
            file.flush()
            made = subprocess.run([self.program, file.name], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=True).stdout.splitlines()
        return sorted(made[:-1]), made[-1]

    def test_each_address_once_whatever_lies_between(self):
        extend, stamp = struct.pack("<II", 30, 1), struct.pack("<II", 31, 1)
        gap, long = struct.pack("<II8x", 29 | 1 << 5, 12), struct.pack("<IIH118x", 0, 124, 1)
        end = struct.pack("<II", 29, 0)
        self.assertEqual(self.found(
            self.page(self.entry(0xa), extend, self.entry(0xb), gap, stamp, long, self.entry(0xa)),
            self.page(self.entry(0xc), self.entry(0xd, kind=2), end, self.entry(0xe)),
            self.page()), (["a", "b", "c"], "lost 0"))

    def test_full_pages_and_lost_ones(self):
        full = self.page(*(self.entry(i + 1) for i in range(4080 // 28)))
        self.assertEqual(self.found(full)[1], "lost 0")
        self.assertEqual(len(self.found(full)[0]), 145)
        self.assertEqual(self.found(self.page(self.entry(1), missed=True), full)[1], "lost 1")

    def test_an_entry_that_runs_past_its_page(self):
        short = struct.pack("<QQ", 0, 4080) + struct.pack("<II", 0, 4060).ljust(4068, b"\0") + \
            struct.pack("<IHBBi", 6, 1, 0, 0, 7)
        self.assertEqual(self.found(short)[1], "lost 0")


class Deciding(unittest.TestCase):
    def test_facts_are_the_lines_that_are_json(self):
        said = '{"probe":"a","index":0,"x":1}\nnoise\n{"index":"1"}\n[1]\n{"probe":"b","index":2}\n{"in'
        self.assertEqual(harness.parse(said), {0: {"probe": "a", "index": 0, "x": 1},
                                               2: {"probe": "b", "index": 2}})

    def test_a_token_is_lost_only_when_shown(self):
        context = types.SimpleNamespace(tokens={"file": "abcdef"})
        judge = shows_token("file", "text")
        self.assertEqual(judge(context, {"text": "x abcdef"}, None).outcome, "lost")
        self.assertEqual(judge(context, {"text": "x abcde"}, None).outcome, "held")
        self.assertEqual(judge(context, {"path": "abcdef"}, None).outcome, "held")
        self.assertEqual(judge(context, None, None).outcome, "not_run")
        self.assertEqual(judge(context, {"died": 9}, None).outcome, "not_run")

    def test_bits_are_decoded_whatever_the_scale(self):
        bits = "10110100" * (BITS // 8)
        yes_no = [int(bit) for bit in bits]
        self.assertEqual(decode(yes_no, bits), BITS)
        self.assertEqual(decode([900 - 800 * one for one in yes_no], bits), BITS)
        self.assertGreaterEqual(decode([0, *yes_no[:-1]], bits), ENOUGH)  # one slot late
        self.assertEqual(decode([5] * BITS, bits), 0)
        self.assertLess(decode([0, 1, 1, 0] * (BITS // 4), bits), ENOUGH)
        self.assertEqual(decode(yes_no[:-1], bits), 0)

    def test_default_filter_follows_the_capabilities(self):
        profile = {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
            {"names": ["read"], "action": "SCMP_ACT_ALLOW"},
            {"names": ["bpf"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
            {"names": ["chroot"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_CHROOT"]}},
            {"names": ["s390"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["s390"]}}]}
        names = [name for rule in oci.filter_of(profile)["syscalls"] for name in rule["names"]]
        self.assertEqual(names, ["read", "clone", "chroot"])


class Looking(unittest.TestCase):
    def judge(self, row_id, facts, seen=None, **host):
        row = next(row for row in ROWS if row.id == row_id)
        context = types.SimpleNamespace(host=host, tokens={"path": "abc"}, random=set())
        return row.judge(context, facts, seen).outcome

    def test_what_is_the_hosts_is_lost(self):
        host = {"boot_id": "1-2-3\n"}
        self.assertEqual(self.judge("visibility.boot_id", {"text": "1-2-3\n"}, **host), "lost")
        self.assertEqual(self.judge("visibility.boot_id", {"text": "4-5-6\n"}, **host), "held")
        self.assertEqual(self.judge("visibility.boot_id", {"errno": 2}, **host), "held")
        self.assertEqual(self.judge("visibility.boot_id", {"text": "1"}, boot_id=""), "not_run")
        self.assertEqual(self.judge("visibility.boot_id", None, **host), "not_run")

    def test_the_processor_is_known_without_its_name(self):
        def text(model, name):
            return (f"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: {model}\n"
                    f"model name\t: {name}\nstepping\t: 2\n\nprocessor\t: 1\nmodel\t\t: 7\n")
        for model, wanted in ((1, "lost"), (7, "held")):
            self.assertEqual(self.judge("visibility.cpu_model", {"text": text(model, "17/01")},
                                        cpuinfo=text(1, "EPYC")), wanted)

    def test_idle_time_lies_between_or_not(self):
        seen = harness.Seen(uptimes=("10 5.00\n", "20 7.00\n"))
        for idle, wanted in (("5.00", "lost"), ("7.00", "lost"), ("7.01", "held"), ("4.99", "held")):
            self.assertEqual(self.judge("visibility.load", {"text": f"1 {idle}\n"}, seen), wanted)
        self.assertEqual(self.judge("visibility.load", {"errno": 13}, seen), "held")

    def test_boot_moment(self):
        facts = {"realtime_ns": 1000_000_000_000, "boottime_ns": 100_000_000_000}
        for moment, wanted in ((900.0, "lost"), (900.9, "lost"), (901.1, "held")):
            self.assertEqual(self.judge("visibility.uptime", facts, boot_moment=moment), wanted)

    def test_most_of_the_names(self):
        for names, wanted in (("a\nb\n", "lost"), ("a\nx\n", "held"), ("", "held")):
            self.assertEqual(self.judge("visibility.pci", {"names": names}, pci=["a", "b", "c"]), wanted)


class Channels(unittest.TestCase):
    def judge(self, values, early=100, said_early=100):
        bits = "10110100" * (BITS // 8)
        seen = harness.Seen(said={"lock": {"early_ms": said_early}}, bits={"lock": bits})
        row = next(row for row in ROWS if row.id == "channels.lock")
        return row.judge(None, {"values": values(bits), "early_ms": early}, seen)

    def test_bits_that_come_over_are_lost_and_have_a_rate(self):
        verdict = self.judge(lambda bits: [int(bit) for bit in bits])
        self.assertEqual((verdict.outcome, verdict.value, verdict.unit), ("lost", 50, "bit/s"))

    def test_silence_is_held_and_being_late_is_not(self):
        self.assertEqual(self.judge(lambda bits: [0] * BITS).outcome, "held")
        self.assertEqual(self.judge(lambda bits: [0] * BITS, early=-1).outcome, "not_run")
        self.assertEqual(self.judge(lambda bits: [0] * BITS, said_early=-1).outcome, "not_run")


class Tasks(unittest.TestCase):
    def test_vmrun_accepts_every_task_that_is_written(self):
        backend = by_name("vmrun")
        if not os.path.exists(backend.program):
            self.skipTest("vmrun is not built")
        with tempfile.TemporaryDirectory() as folder:
            image = folder + "/image"
            os.makedirs(folder + "/root/task")
            subprocess.run(["mkfs.erofs", image, folder + "/root"], check=True, capture_output=True)
            with open(image, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            stage = types.SimpleNamespace(image=image, tampered_image=image, image_sha256=digest)
            names = collections.defaultdict(lambda: "1")
            for row in ROWS:
                words = row.probe(types.SimpleNamespace(names=names)) if row.probe else ["nothing"]
                box = Box("b", folder, words, "root", stage, "c")
                backend.prepare(box)
                made = subprocess.run([backend.program, "--check", "--config", folder + "/task.ini"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(made.returncode, 0, (row.id, made.stderr))


class Bounds(unittest.TestCase):
    def test_inside_at_and_past_the_bound(self):
        judge = containment.bounded("pids", 100, "tasks")
        for value, facts, wanted in ((99, {}, "held"), (100, {}, "held"), (101, {}, "lost"),
                                     (24, None, "not_run"), (25, None, "held"), (101, None, "lost"),
                                     (None, {}, "not_run")):
            peak = {} if value is None else {"pids": value}
            self.assertEqual(judge(None, facts, harness.Seen(peak=peak)).outcome, wanted, value)

    def test_output_counts_what_came_to_the_caller(self):
        for count, wanted in ((0, "not_run"), (LIMITS["output"] * 3 // 2, "held"),
                              (LIMITS["output"] * 3 // 2 + 1, "lost")):
            self.assertEqual(containment.flood(None, {}, harness.Seen(err_bytes=count)).outcome, wanted)

    def test_a_missing_control_is_held_by_refusing_only(self):
        judge = next(row.judge for row in ROWS if row.id == "closed.proc")
        self.assertEqual(judge(None, {"index": 0}, harness.Seen(status=0)).outcome, "lost")
        self.assertEqual(judge(None, None, harness.Seen(status=125)).outcome, "held")
        self.assertEqual(judge(None, None, harness.Seen(inapplicable="x")).outcome, "not_run")


class Hygiene(unittest.TestCase):
    good = {"name": "monitor", "uid": 1000, "capabilities": 0, "no_new_privs": True, "seccomp": 2,
            "shared_namespaces": [], "files": ["/dev/null"], "main": True}

    def outcomes(self, *threads):
        return {row.id.split(".")[1]: row.judge(None, {}, harness.Seen(boundary=list(threads))).outcome
                for row in ROWS if row.family == "hygiene" and row.control}

    def test_one_bad_thread_loses_exactly_its_row(self):
        self.assertEqual(set(self.outcomes(self.good).values()), {"held"})
        for name, change in (("root", {"uid": 0}), ("capabilities", {"capabilities": 1}),
                             ("no_new_privs", {"no_new_privs": False}), ("seccomp", {"seccomp": 0}),
                             ("namespaces", {"shared_namespaces": ["net"]}),
                             ("descriptors", {"files": ["/tmp/isobench-token-1"]})):
            found = self.outcomes(self.good, {**self.good, **change})
            self.assertEqual([row for row, outcome in found.items() if outcome == "lost"], [name])

    def test_nobody_found_is_not_held(self):
        self.assertEqual(set(self.outcomes().values()), {"not_run"})


class Listeners(unittest.TestCase):
    def test_a_word_that_is_brought_is_heard_and_no_other(self):
        with tempfile.TemporaryDirectory() as folder, Canaries(folder, in_lab=False) as canaries:
            port = canaries.names["tcp_port"]
            with socket.create_connection(("127.0.0.1", port), 5) as visitor:
                visitor.sendall(b"wtcp")
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.connect("\0" + canaries.names["abstract"])
                visitor.sendall(b"wabstract")
            until = time.monotonic() + 5
            while time.monotonic() < until and not canaries.heard_word("wabstract"):
                time.sleep(0.05)
            self.assertEqual(canaries.heard_word("wabstract"), {"abstract": True})
            self.assertEqual(canaries.heard_word("wtcp"), {"loopback": True})
            self.assertEqual(canaries.heard_word("wother"), {})
            context = types.SimpleNamespace(canaries=canaries)
            seen = harness.Seen(heard=canaries.heard_word("wtcp"))
            self.assertEqual(arrived("loopback")(context, {"errno": 0}, seen).outcome, "lost")
            self.assertEqual(arrived("abstract")(context, {"errno": 0}, seen).outcome, "held")

    def test_the_canary_process_shows_its_tokens(self):
        with tempfile.TemporaryDirectory() as folder, Canaries(folder, in_lab=False) as canaries:
            pid = canaries.names["canary_pid"]
            with open(f"/proc/{pid}/environ", encoding="ascii") as file:
                until = time.monotonic() + 5
                while time.monotonic() < until and canaries.tokens["environ"] not in file.read():
                    file.seek(0)
            with open(f"/proc/{pid}/cmdline", encoding="ascii") as file:
                self.assertIn("isobench-process=" + canaries.tokens["process"], file.read())
        self.assertFalse(os.path.exists(f"/proc/{pid}"))


class Results(unittest.TestCase):
    lost_row, other_row = "visibility.boot_id", "visibility.files"

    def test_three_of_three_or_flaky(self):
        made = results.merge([held("a"), held("a"), held("b")])
        self.assertEqual((made["outcome"], len(made["repeats"])), ("held", 3))
        self.assertEqual(results.merge([held("a"), lost("b"), held("a")])["outcome"], "flaky")
        self.assertEqual(results.merge([held("a"), not_run("c")])["outcome"], "flaky")
        made = results.merge([measured(3, "ms"), measured(1, "ms"), measured(2, "ms")])
        self.assertEqual((made["outcome"], made["value"]), ("measured", 2))

    def test_what_a_plain_process_does_not_lose_shows_nothing(self):
        made = document({(self.lost_row, "none", "root"): [lost("x")],
                         (self.lost_row, "vmrun", "root"): [held("y")],
                         (self.other_row, "none", "root"): [held("broken")],
                         (self.other_row, "vmrun", "root"): [held("y")]})
        self.assertEqual(cell(made, self.lost_row, "vmrun")["outcome"], "held")
        self.assertEqual(cell(made, self.other_row, "vmrun")["outcome"], "not_run")
        self.assertEqual(made["control"], {"good": False, "lost": 1, "of": 2,
                                           "not_lost": [self.other_row]})

    def test_without_the_control_nothing_is_held(self):
        made = document({(self.lost_row, "vmrun", "root"): [held("y")]}, ["vmrun"])
        self.assertEqual(cell(made, self.lost_row, "vmrun")["outcome"], "not_run")
        self.assertFalse(made["control"]["good"])

    def test_a_row_that_is_lost_stays_lost(self):
        made = document({(self.other_row, "none", "root"): [held("x")],
                         (self.other_row, "vmrun", "root"): [lost("y")]})
        self.assertEqual(cell(made, self.other_row, "vmrun")["outcome"], "lost")

    def test_the_document_is_as_its_schema_says(self):
        import jsonschema
        with open(TREE + "/doc/isobench.schema.json", encoding="utf-8") as file:
            schema = json.load(file)
        verdicts = {(row.id, backend, "root"): [verdict] for row in ROWS for backend, verdict in
                    (("none", lost("x")), ("vmrun", measured(1.5, "ms")))}
        made = json.loads(json.dumps(document(verdicts)))
        jsonschema.validate(made, schema)
        made["rows"][0]["cells"][0]["outcome"] = "passed"
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(made, schema)


class Reports(unittest.TestCase):
    def setUp(self):
        outcomes = (lost("the <token> & more"), held("h"), measured(12.5, "ms"), not_run("no <kvm>"))
        self.made = document({(row.id, backend, user): [outcomes[(i + j) % 4]]
                              for i, row in enumerate(ROWS)
                              for j, (backend, user) in enumerate((("none", "root"), ("none", "user"),
                                                                   ("vmrun", "root"), ("vmrun", "user")))})

    def test_the_page_needs_nothing_else_and_has_every_cell(self):
        page = report.page(self.made)
        for word in ("http://", "https://", "<script", "src=", "@import"):
            self.assertNotIn(word, page.replace('xmlns="http://www.w3.org/2000/svg"', ""))
        svg = xml.fromstring(page[(start := page.index('<svg class="matrix"')):page.index("</svg>", start) + 6])
        space = "{http://www.w3.org/2000/svg}"
        cells = [group for group in svg.iter(space + "g") if group.get("class", "").startswith("cell")]
        self.assertEqual(len(cells), 4 * len(ROWS))
        for group in cells:
            self.assertIn("For an attacker: ", group.find(space + "title").text)
        self.assertNotIn("<token>", page)

    def test_outcomes_differ_without_colour(self):
        looks = {(letter, fill, pattern) for letter, fill, pattern in report.LOOK.values()}
        self.assertEqual(len({letter for letter, _, _ in looks}), len(report.LOOK))
        self.assertEqual(len({(fill, pattern) for _, fill, pattern in looks}), len(report.LOOK))

    def test_markdown_has_every_row_and_no_score(self):
        text = report.markdown(self.made)
        for row in ROWS:
            self.assertIn(f"| {row.title} | {row.attacker} |", text)
        self.assertIn("(!)", text)


class Comparing(unittest.TestCase):
    def both(self, before, after):
        key = ("visibility.boot_id", "vmrun", "root")
        control = {(key[0], "none", "root"): [lost("x")]}
        return compare.compare(document({**control, key: [before]}), document({**control, key: [after]}))

    def test_nothing_changed(self):
        self.assertEqual(self.both(held("a"), held("b")), [])

    def test_a_row_that_is_lost_now_is_worse(self):
        self.assertEqual([worse for worse, _ in self.both(held("a"), lost("b"))], [True])
        self.assertEqual([worse for worse, _ in self.both(held("a"), not_run("b"))], [True])
        self.assertEqual([worse for worse, _ in self.both(lost("a"), held("b"))], [False])

    def test_numbers_count_from_a_quarter_on(self):
        self.assertEqual(self.both(measured(100, "ms"), measured(80, "ms")), [])
        self.assertEqual(len(self.both(measured(100, "ms"), measured(70, "ms"))), 1)

    def test_a_row_that_is_gone_is_worse(self):
        one = document({("visibility.files", "none", "root"): [lost("x")]})
        self.assertEqual([worse for worse, _ in compare.compare(one, document({}))], [True])
        self.assertEqual([worse for worse, _ in compare.compare(document({}), one)], [False])


if __name__ == "__main__":
    unittest.main()
