"""The arithmetic and the texts, without a mount: python3 Benchmarks/selftest.py"""
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.dom.minidom

import bench
import commands
import costs
import felt
import figures
import markdown
import plot
import reaper
import tables
import workloads


def verdict(name, samples, peers=(), uring=False):
    return figures.verdict(workloads.BY_NAME[name], samples, list(peers), uring)


class Ratios(unittest.TestCase):
    def test_a_ratio_is_of_the_same_round(self):
        # The ratio of the medians would be 1: the slow minute fell on both, but not on the same figures.
        native, ours = [100, 10, 100], [10, 100, 50]
        self.assertEqual(figures.ratio(ours, native), figures.Figure(0.5, 0.1, 10))

    def test_a_round_that_failed_counts_for_nobody(self):
        self.assertEqual(figures.ratio([None, 5, 6], [1, 10, None]), figures.Figure(0.5, 0.5, 0.5))
        self.assertIsNone(figures.ratio([None], [1]))
        self.assertIsNone(figures.ratio(None, [1]))

    def test_numbers_keep_three_digits(self):
        self.assertEqual([figures.number(each) for each in (0.1234, 999.4, 1000, 45_678, 999_600, 2_340_000)],
                         ["0.123", "999", "1k", "45.7k", "1M", "2.34M"])
        self.assertEqual([figures.share(each) for each in (0.0123, 0.654, 3)], ["0.012", "0.65", "3.00"])


class Verdicts(unittest.TestCase):
    def test_a_share_of_native(self):
        self.assertEqual(verdict("seq-read", {"native": [100], "aclfs": [95]}).outcome, "met")
        self.assertEqual(verdict("seq-read", {"native": [100], "aclfs": [94]}).outcome, "missed")

    def test_rounds_that_differ_are_said(self):
        held = verdict("seq-read", {"native": [100, 100, 100], "aclfs": [90, 96, 97]})
        self.assertEqual(figures.shown(held), "met (rounds differ)")

    def test_one_byte_takes_at_most_half_as_long_again(self):
        self.assertEqual(verdict("pwrite-1", {"native": [150], "aclfs": [100]}).outcome, "met")
        self.assertEqual(verdict("pwrite-1", {"native": [151], "aclfs": [100]}).outcome, "missed")

    def test_no_peer_may_lead(self):
        samples = {"native": [100], "aclfs": [70], "a": [60], "b": [71]}
        self.assertEqual(verdict("stat", samples, ["a"]).outcome, "met")
        self.assertEqual(verdict("stat", samples, ["a", "b"]).outcome, "missed")
        # For missing names only native is the measure.
        self.assertEqual(verdict("stat-miss", samples, ["a", "b"]).outcome, "met")

    def test_many_objects_cost_as_much_as_few(self):
        few = {"native": [100], "aclfs": [50]}
        self.assertEqual(figures.verdict_flat({"native": [80], "aclfs": [37]}, few).outcome, "met")
        self.assertEqual(figures.verdict_flat({"native": [80], "aclfs": [35]}, few).outcome, "missed")

    def test_ahead_of_every_peer_and_by_half_with_io_uring(self):
        samples = {"native": [100], "aclfs": [14], "a": [10], "b": [9]}
        self.assertEqual(verdict("open", samples, ["a", "b"]).outcome, "met")
        self.assertEqual(verdict("open", samples, ["a", "b"], uring=True).outcome, "missed")
        self.assertEqual(verdict("open", samples, []).outcome, "", "without a peer nothing is said")

    def test_what_failed_is_not_met(self):
        self.assertEqual(verdict("open", {"native": [1], "aclfs": [None], "a": [1]}, ["a"]).outcome, "")

    def test_entries_are_compared_with_aclfs_itself(self):
        self.assertEqual(figures.verdict_with_entries({"aclfs": [100], "aclfs+acl": [95], "native": [1000]}).outcome, "met")
        self.assertEqual(figures.verdict_with_entries({"aclfs": [100], "aclfs+acl": [94], "native": [1]}).outcome, "missed")

    def test_home_is_counted_in_lookups(self):
        def held(name, plain, home):
            return figures.verdict_at_home(workloads.BY_NAME[name], {"aclfs": plain, "aclfs-home": home}).outcome

        self.assertEqual(held("stat", 0.01, 1.02), "met")
        self.assertEqual(held("stat", 0.0, 2.0), "missed")
        # Creating and unlinking walk the path twice.
        self.assertEqual(held("create", 3.0, 5.0), "met")


class CommandRows(unittest.TestCase):
    def test_each_row_is_a_command_and_no_loop(self):
        self.assertLessEqual(set(commands.ROWS.values()), set(felt.BY_NAME))
        self.assertFalse(set(commands.ROWS) & set(workloads.BY_NAME))
        self.assertEqual(commands.title("rm-rf"), "rm -rf of the copy, for each file")

    def test_without_git_its_row_is_left_out(self):
        with unittest.mock.patch("commands.has_git", return_value=False):
            self.assertEqual(commands.of(["git-status", "open", "du"]), ["du"])

    def test_waiting_for_requests_is_no_call(self):
        self.assertEqual(costs.asking({"sys_enter": 10, "poll": 3, "read": 1, "statx": 6}), 6)

    def test_an_unknown_peer_of_the_costs_is_named(self):
        with unittest.mock.patch("sys.stderr", io.StringIO()) as errors, unittest.mock.patch("os.geteuid", return_value=0):
            self.assertEqual(costs.main(["--instructions", "only", "--built", "bindfs,sshfs"]), 2)
        self.assertIn("there is no 'sshfs'", errors.getvalue())

    def test_every_row_of_the_costs_can_be_asked_for(self):
        self.assertLessEqual(set(costs.ROWS), set(workloads.BY_NAME) | set(commands.ROWS))


class Texts(unittest.TestCase):
    result = {
        "machine": {"date": "d", "commit": "c", "aclfs": "v", "processor": "p", "processors": 2, "memory_gib": 1, "virtual": True,
                    "kernel": "k", "libfuse": "l", "bindfs": None, "backing": {"type": "ext4", "options": "rw"}},
        "settings": {"rounds": 2, "seconds": 1, "data_mib": 1, "objects": 1000, "options": "", "quick": True},
        "load_before": {"average": 1}, "load_after": {"average": 2},
        "paths": {"uring": {"used": False, "why": "w"}}, "missing": ["bindfs: not installed"], "start": [105, 110, 120],
        "identities": {"root": {"rounds": 1, "failures": [], "decisions": {"stat": {"aclfs": 0, "aclfs-home": 1}},
                                "samples": {"stat": {"native": [10], "aclfs": [7], "aclfs+acl": [7], "aclfs+again": [6],
                                                     "aclfs-home": [1], "b": [5]}}}},
        "micro": [{"name": "n", "ns": 41.0, "low": 1, "high": 50, "allocations": 0, "limit_ns": 40}],
        "scale": {"objects": 1000, "few": 10, "bytes_each": 401, "rows": {"open": {"native": [10], "aclfs": [5]}}},
        "trees": {"objects": 1000, "memory": 2**20, "rows": {
            "propagate, every list changes": {"rate": 19_999, "command_us": 12.34, "daemon_us": 30.06},
            "propagate offline, every list changes": {"rate": 5, "command_us": 1, "daemon_us": None}}},
    }

    def test_one_reason_is_told_once_and_without_places(self):
        failures = [f"{each} on b: /a/b/aclfs-load -u 1000 …: exit 1: aclfs-load: /c/d: Permission denied" for each in ("stat", "open")]
        result = {**self.result, "identities": {"user": {**self.result["identities"]["root"], "failures": [*failures, "find on b: gone"]}}}
        told = [line for line in tables.summary(result) if line.startswith("Failed")]
        self.assertEqual(told, ["Failed as user: stat, open on b: Permission denied.", "Failed as user: find on b: gone."])

    def test_every_table_has_its_columns(self):
        shown = dict(tables.all_of(self.result))
        for title, rows in shown.items():
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, title)
        row = dict(zip(*shown["As root"][:2]))
        self.assertEqual([row["target"], row["verdict"], row["with entries"]], ["0.65 of native, no peer ahead", "met", "met"])
        # What a verdict is made of is there to be checked.
        self.assertEqual([row["the same again"], row["of the best"]], ["0.86", "1.40"])
        for title in ("Start", "Scale", "Microbenchmarks"):
            self.assertEqual(shown[title][-1][-1], "missed", title)
        trees = shown["Commands on trees"]
        self.assertEqual(trees[1][2:], ["12.3", "30.1", "20k", "missed"])
        self.assertEqual([trees[2][3], trees[3][-1]], ["-", "met"])

    def test_what_is_missing_is_said(self):
        text = markdown.section(self.result)
        self.assertIn("Not measured: bindfs: not installed.", text)
        self.assertIn("As root only 1 rounds were complete.", text)
        self.assertIn("uring off", text)

    def test_what_is_unusual_is_in_the_name_and_said(self):
        settings = {**self.result["settings"], "options": "cache=0", "cpu": "1", "servers": "together", "skip": "open,stat"}
        result = {**self.result, "settings": settings}
        self.assertEqual(markdown.name(result), "ext4, cache=0, clients on one processor, one session")
        text = markdown.section(result)
        self.assertIn("Servers ran in the clients' session", text)
        self.assertIn("Left out: open, stat.", text)

    def test_a_section_is_replaced_and_the_rest_kept(self):
        once = markdown.placed("# A\n\ntext\n", "ext4", "one\n")
        both = markdown.placed(once, "tmpfs", "two\n")
        again = markdown.placed(both, "ext4", "three\n")
        self.assertTrue(again.startswith("# A\n\ntext\n\n<!-- bench:begin ext4 -->\n"))
        self.assertNotIn("one", again)
        self.assertIn("two", again)
        self.assertEqual(markdown.placed(again, "ext4", "three\n"), again)
        with self.assertRaises(ValueError):
            markdown.placed(again + "<!-- bench:begin ext4 -->\n", "ext4", "four\n")

    def test_a_wrong_workload_is_named_with_the_right_ones(self):
        with self.assertRaisesRegex(ValueError, "no workload opne; there are: stat"):
            workloads.chosen("opne", "", False)
        self.assertEqual([each.name for each in workloads.chosen("open,stat", "stat", False)], ["open"])


class WholeCommands(unittest.TestCase):
    samples = {
        "git-status": {"native": [0.01, 0.02], "aclfs": [0.015, 0.028], "bindfs": [0.05, 0.1], "aclfs+exclusive": [0.01, 0.02]},
        "du": {"native": [1.0, 1.0], "aclfs": [2.0, 1.7], "bindfs": [None, None], "aclfs+exclusive": [1.0, 0.9]},
        "tar-x": {"native": [1.0, 1.0], "aclfs": [4.0, 4.0], "aclfs+exclusive": [4.0, 4.0]},
    }
    identity = {"rounds": 2, "labels": ["native", "aclfs", "bindfs", "aclfs+exclusive"], "samples": samples,
                "failures": ["du on bindfs: exit 1: du: <&>: Input/output error"]}
    whole = {"settings": {"files": 6700, "sources": 2000, "photos": 0, "entries": 200_000, "rest": 2.0, "rounds": 3},
             "identities": {"user 1000": identity}, "missing": ["passthrough_hp: does not build here"],
             "paths": {"uring": {"used": True}}}
    result = {**Texts.result, "felt": whole}
    alone = {**result, "identities": {}, "start": None, "scale": None, "trees": None, "micro": None}

    def test_less_is_better_and_native_is_the_measure(self):
        def held(name):
            return figures.shown(figures.verdict_whole(felt.BY_NAME[name], self.samples[name]))

        self.assertEqual([held(each) for each in ("git-status", "du", "tar-x")], ["met", "missed (rounds differ)", ""])
        self.assertEqual(figures.verdict_whole(felt.BY_NAME["du"], {"native": [1], "aclfs": [None]}).outcome, "")

    def test_the_table_has_the_default_options_first_and_exclusive_last(self):
        (title, rows), = tables.whole_of(self.result)
        self.assertEqual(title, "As user 1000")
        self.assertEqual(rows[0], ["command", "native", "aclfs", "bindfs", "aclfs, cache=exclusive", "goal", "verdict"])
        self.assertEqual(rows[1], ["git status", "15 ms [10 ms..20 ms]", "1.45 [1.40..1.50] 21.5 ms", "5.00 [5.00..5.00] 75 ms",
                                   "1.00 [1.00..1.00] 15 ms", "at most 1.6", "met"])
        self.assertEqual(rows[2][3:], ["failed", "0.95 [0.90..1.00] 950 ms", "at most 1.8", "missed (rounds differ)"])
        self.assertEqual(rows[3], ["tar -x of 2 000 source files", "1 s [1 s..1 s]", "4.00 [4.00..4.00] 4 s", "-", "4.00 [4.00..4.00] 4 s",
                                   "none", "-"])

    def test_the_summary_says_what_was_there_and_what_not(self):
        text = "\n".join(tables.whole_summary(self.result))
        self.assertIn("3 rounds, with a rest of 2 s before each command; a repository of 6 700 files, a tarball of 2 000 source files, "
                      "a directory of 200 000 entries.", text)
        self.assertIn("Not measured: passthrough_hp: does not build here.", text)
        self.assertIn("As user 1000 only 2 rounds were complete.", text)
        self.assertIn("Failed as user 1000: du on bindfs: Input/output error.", text)

    def test_what_fails_on_a_peer_is_no_error_of_the_run(self):
        self.assertEqual(felt.failures(self.whole), [])
        lines = ["cp-r on native: exit 1: no room", "du on aclfs: exit 1: m", "find on aclfs+exclusive: exit 1: m"]
        identity = {**self.identity, "failures": self.identity["failures"] + lines}
        self.assertEqual(felt.failures({**self.whole, "identities": {"root": identity}}), lines)

    def test_the_marked_section_is_filled_and_the_rest_kept(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/document.md"
            with open(path, "w", encoding="utf-8") as file:
                file.write(markdown.placed("# A\n", markdown.WHOLE, "Not measured yet.\n") + "\nlast words\n")
            markdown.write(path, self.alone, f"{directory}/results/plot.svg")
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith(f"# A\n\n<!-- bench:begin {markdown.WHOLE} -->\n\n### Whole commands on ext4\n"))
        self.assertIn("](results/plot.svg)", text)
        self.assertIn("| git status | 15 ms", text)
        self.assertNotIn("Not measured yet", text)
        self.assertTrue(text.endswith("\nlast words\n"))
        # Nothing but whole commands was measured: no section says that there is nothing.
        self.assertEqual(text.count("bench:begin"), 1)

    def test_both_sections_have_places_of_their_own(self):
        with tempfile.TemporaryDirectory() as directory:
            markdown.write(f"{directory}/document.md", self.result)
            with open(f"{directory}/document.md", encoding="utf-8") as file:
                text = file.read()
        self.assertEqual([f"bench:begin {each} -->" in text for each in (markdown.WHOLE, "ext4")], [True, True])
        self.assertNotIn("![", text, "no plot was written")

    def test_the_plot_is_well_formed_and_says_its_numbers(self):
        text = plot.of(self.result)
        document = xml.dom.minidom.parseString(text)
        texts = [each.firstChild.data for each in document.getElementsByTagName("text")]
        for each in ("git status", "1.45", "bindfs", "aclfs, cache=exclusive", "goal of aclfs", "tar -x of 2 000 source files", "native"):
            self.assertIn(each, texts)
        bars = [each for each in document.getElementsByTagName("rect") if each.getElementsByTagName("title")]
        # A bar for each figure, and none for what failed or was left out.
        self.assertEqual(len(bars), 3 * 3 - 2)
        self.assertTrue(all(float(each.getAttribute("width")) > 0 for each in bars))
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertNotIn("url(", text)
        with self.assertRaisesRegex(ValueError, "nothing to plot"):
            plot.of(Texts.result)

    def test_any_name_is_text_in_the_plot(self):
        text = plot.svg("<a> & b", "c \"d\"", ["aclfs", "x<y>"], [("e & <f>", None, [0.5, 30.0])])
        self.assertIn("x<y>", [each.firstChild.data for each in xml.dom.minidom.parseString(text).getElementsByTagName("text")])

    def test_the_scale_holds_native_and_every_value(self):
        self.assertEqual(plot.bounds([1.3, 7]), (0.5, 10))
        self.assertEqual(plot.bounds([1]), (0.5, 2))
        self.assertEqual(plot.bounds([0.04, 130]), (0.02, 200))
        self.assertEqual(plot.bounds([1e-9, 1e9]), (plot.STEPS[0], plot.STEPS[-1]))

    def test_every_place_comes_first_in_turn(self):
        self.assertEqual([felt.rotated(["a", "b", "c"], each) for each in (0, 1, 5)], [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
        self.assertEqual(felt.rotated([], 3), [])

    def test_commands_of_one_target_are_one_block(self):
        names = [[each.name for each in block] for block in felt.blocks(felt.ALL)]
        self.assertIn(["git-status"], names)
        self.assertIn(["cp-r", "rm-rf"], names)
        self.assertIn(["many-create", "many-ls", "many-rm"], names)
        self.assertEqual(sum(map(len, names)), len(felt.ALL))

    def test_commands_without_a_tree_are_left_out(self):
        names = [each.name for each in felt.chosen({"files": 0, "sources": 1, "photos": 0, "entries": 1})]
        self.assertEqual(names, ["tar-x", "many-create", "many-ls", "many-rm"])

    def test_the_last_column_keeps_the_other_options(self):
        self.assertEqual([felt.exclusive(each) for each in ("", "cache=0", "noatime,cache=strict,dev")],
                         ["cache=exclusive", "cache=exclusive", "noatime,dev,cache=exclusive"])

    def test_the_environment_of_the_caller_does_not_reach_git(self):
        os.environ["GIT_DIR"], os.environ["XDG_CONFIG_HOME"] = "/nowhere", "/nowhere"
        try:
            words = felt.environment("/home")
        finally:
            del os.environ["GIT_DIR"], os.environ["XDG_CONFIG_HOME"]
        self.assertNotIn("GIT_DIR", words)
        self.assertNotIn("XDG_CONFIG_HOME", words)
        self.assertEqual([words["HOME"], words["GIT_AUTHOR_NAME"]], ["/home", "bench"])

    @unittest.mock.patch.dict(os.environ, {name: "" for name in os.environ if name.startswith("BENCH_")})
    def test_which_runs_have_them(self):
        # A run of one workload, or of two minutes, does not end after an hour of rests.
        ways = [[], ["--quick"], ["--only", "open"], ["--only=open"], ["--quick", "--felt", "only"]]
        self.assertEqual([bench.arguments(each).felt for each in ways], ["too", "no", "no", "no", "only"])
        quick, full = bench.arguments(["--quick"]), bench.arguments([])
        self.assertTrue(all(small < large for small, large in zip(felt.sizes_of(quick).values(), felt.sizes_of(full).values())))
        self.assertEqual([full.entries, full.rest], [200_000, 2.0])


class CleaningUp(unittest.TestCase):
    def test_what_a_killed_run_left_is_found_and_no_other(self):
        with tempfile.TemporaryDirectory() as parent:
            for name, text in (("dead", "1 1"), ("alive", f"{os.getpid()} {reaper.started(os.getpid())}"), ("foreign", None)):
                os.mkdir(f"{parent}/{reaper.PREFIX}{name}")
                if text:
                    with open(f"{parent}/{reaper.PREFIX}{name}/.run", "w", encoding="ascii") as file:
                        file.write(text)
            self.assertEqual(list(reaper.abandoned(parent)), [f"{parent}/{reaper.PREFIX}dead"])

    def test_a_process_may_end_while_it_is_looked_at(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.assertEqual(reaper.program(child.pid), "")
        self.assertTrue(reaper.program(os.getpid()).startswith("python"))

    def test_the_reaper_waits_for_the_end_and_then_removes(self):
        with tempfile.TemporaryDirectory() as parent:
            top = f"{parent}/top"
            os.makedirs(f"{top}/deep/down")
            child = subprocess.Popen([sys.executable, "-B", reaper.__file__, top], stdin=subprocess.PIPE)
            time.sleep(0.3)
            self.assertTrue(os.path.exists(top))
            child.stdin.close()
            self.assertEqual(child.wait(), 0)
            self.assertFalse(os.path.exists(top))


if __name__ == "__main__":
    unittest.main()
