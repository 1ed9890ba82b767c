#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lint finds what it should: the tree passes, and each spoilt copy fails."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("lint", os.path.join(ROOT, "scripts", "lint"))
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)


class LintTest(unittest.TestCase):
    """One copy of the tree for all tests: each writes what it spoils by spoil(), which is
    undone after it. The lint remembers the files that did not change in between."""

    @classmethod
    def setUpClass(cls):
        cls.tree = tempfile.mkdtemp()
        for folder in ("include", "backend", "src", "sim"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(cls.tree, folder))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.tree)

    def setUp(self):
        self.originals = {}  # by path; None where there was no file

    def tearDown(self):
        for path, text in self.originals.items():
            if text is None:
                os.remove(path)
            else:
                with open(path, "w") as file:
                    file.write(text)

    def spoil(self, path, text):
        """Writes a file of the copy, for this test alone."""
        before = None
        if os.path.exists(path):
            with open(path) as file:
                before = file.read()
        self.originals.setdefault(path, before)
        with open(path, "w") as file:
            file.write(text)

    def lint(self, *options):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = lint.main(["--root", self.tree, *(options or ["--no-tools"])])
        return status, said.getvalue()

    def path(self, name):
        return os.path.join(self.tree, "include", "pawl", name)

    def source(self, name):
        return os.path.join(self.tree, "src", name)

    def edit(self, name, old, new):
        path = self.source(name) if "/" in name else self.path(name)
        with open(path) as file:
            text = file.read()
        self.assertIn(old, text, f"{name} has changed; adapt this test")
        self.spoil(path, text.replace(old, new, 1))

    def plant(self, name, text):
        """A file of src, which keeps to all other rules."""
        self.spoil(self.source(name), "/* SPDX-License-Identifier: MIT */\n" + text)

    def add(self, name, text):
        self.edit(name, "#endif /* PAWL_", text + "\n#endif /* PAWL_")

    def assert_found(self, *words):
        status, output = self.lint()
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)
        self.assertIn("lint: 1 findings", output)

    def test_the_tree_passes(self):
        status, output = self.lint()
        self.assertEqual((status, output), (0, ""))

    def test_helper_that_looks_public(self):
        self.add("tas.h", "static inline void pawl_tas_peek(void)\n{\n}")
        self.assert_found("tas.h: pawl_tas_peek has no contract")

    def test_policy_of_the_caller(self):
        self.add("tas.h", "/* Waits. */\nstatic inline void pawl_tas_wait(enum pawl_wait how)\n{\n\t(void)how;\n}")
        self.assert_found("tas.h: pawl_tas_wait is told how to wait")

    def test_private_export_that_looks_public(self):
        self.edit("./exports.map.in", "PAWL_0 {\n\tglobal:\n", "PAWL_0 {\n\tglobal:\n\t\tpawl_planted_;\n")
        self.assert_found("exports.map.in: pawl_planted_ is in PAWL_0")

    def test_public_export_that_is_private(self):
        node = "PAWL_PRIVATE_@PAWL_PROTOCOL@ {\n\tglobal:\n"
        self.edit("./exports.map.in", node, node + "\t\tpawl_planted;\n")
        self.assert_found("exports.map.in: pawl_planted is in PAWL_PRIVATE")

    def test_store_without_label(self):
        self.edit("ticket.h", "turn + 1); /* [R] I3 */", "turn + 1); /* I3 */")
        self.assert_found("ticket.h", "pawl_store_release carries no label")

    def test_await_without_label(self):
        self.edit("tas.h", "how); /* [A] I1 */", "how);")
        self.assert_found("tas.h", "pawl_await_cas_acquire carries no label")

    def test_exchange_without_label(self):
        self.edit("mcs.h", "pawl_address(node))); /* [T] */", "pawl_address(node)));")
        self.assert_found("mcs.h", "pawl_exchange_acq_rel carries no label")

    def test_condition_without_label(self):
        self.edit("hapax_vw.h", "{ /* [S] I1 */", "{")
        self.assert_found("hapax_vw.h", "pawl_cas_release carries no label")

    def test_fence_without_label(self):
        self.add("tas.h", "static inline void f(void)\n{\n\tpawl_heavy_fence();\n}")
        self.assert_found("pawl_heavy_fence carries no label")

    def test_await_rmw_without_label(self):
        self.edit("hemlock_ctr.h", "pawl_await_eq_rmw_acquire(grant, 0, how); /* [E] I3 */",
                  "pawl_await_eq_rmw_acquire(grant, 0, how);")
        self.assert_found("pawl_await_eq_rmw_acquire carries no label")

    def test_label_that_the_card_does_not_explain(self):
        self.edit("ticket.h", "turn + 1); /* [R] I3 */", "turn + 1); /* [Z] I3 */")
        self.assert_found("[Z] is not explained")

    def test_label_explained_in_the_header_that_the_card_names(self):
        self.edit("reciprocating.h", "[T]\n *            pairs with itself", "[V]\n *            pairs with itself")
        self.edit("reciprocating.h", "gate sees it cleared before. [T] pairs",
                  "gate sees it cleared before. [V] pairs")
        status, output = self.lint()
        self.assertEqual(status, 1)
        self.assertIn("reciprocating_fair.h", output)

    def test_label_of_shared_text_that_no_user_explains(self):
        self.edit("hapax_value.h", "&l->depart); /* [A] */", "&l->depart); /* [Y] */")
        self.assert_found("hapax_value.h", "[Y] is not explained")

    def test_label_at_the_end_of_a_wrapped_statement_counts(self):
        self.add("tas.h", "static inline void f(struct pawl_tas *l)\n{\n"
                          "\tpawl_store_release(&l->held,\n\t\t\t   0); /* [R] */\n}")
        self.assertEqual(self.lint(), (0, ""))

    def test_label_of_the_next_statement_does_not_count(self):
        self.add("tas.h", "static inline void f(struct pawl_tas *l)\n{\n"
                          "\tpawl_store_release(&l->held, 0);\n"
                          "\tpawl_store_release(&l->held, 0); /* [R] */\n}")
        self.assert_found("carries no label")

    def test_relaxed_without_a_reason(self):
        self.edit("ticket.h", "/* Relaxed: a ticket need only be unique (I2); [A] does the ordering. */",
                  "")
        self.assert_found("ticket.h", "pawl_fetch_add_relaxed")

    def test_reason_at_the_end_of_a_wrapped_statement_counts(self):
        self.add("tas.h", "static inline uint64_t f(struct pawl_tas *l)\n{\n"
                          "\treturn pawl_load_relaxed(\n\t\t&l->held); /* Relaxed: a hint */\n}")
        self.assertEqual(self.lint(), (0, ""))

    def test_relaxed_in_code_is_no_reason(self):
        self.add("tas.h", "static inline void f(struct pawl_tas *l)\n{\n"
                          "\tpawl_store_relaxed(&l->held, 0);\n}")
        self.assert_found("say in a comment why relaxed is enough")

    def test_conditional_compilation(self):
        self.add("clh.h", "#ifdef SIM\n#define X 1\n")
        status, output = self.lint()
        self.assertEqual(status, 1)
        self.assertIn("no conditional compilation", output)

    def test_conditional_on_the_cpu(self):
        self.add("clh.h", "#if defined(__x86_64__)\n#define X 1\n")
        status, output = self.lint()
        self.assertEqual(status, 1)
        self.assertIn("no conditional compilation", output)

    def test_memory_order_named_in_a_header(self):
        self.add("tas.h", "enum { ORDER = __ATOMIC_ACQUIRE };")
        self.assert_found("tas.h", "a memory order is named")

    def test_memory_order_named_in_a_source(self):
        self.plant("os/x.c", "int x = memory_order_seq_cst;\n")
        self.assert_found("x.c", "a memory order is named")

    def test_include_that_goes_up(self):
        self.edit("sleep/park.c", '#include "sleep/parking.h"',
                  '#include "sleep/parking.h"\n#include "sync/queues.h"')
        self.assert_found("sleep/park.c:", "includes sync/queues.h, which is not below it")

    def test_include_of_a_face_of_a_layer_above(self):
        self.edit("os/os.h", "#include <pawl/atomic.h>", "#include <pawl/mutex.h>")
        self.assert_found("os/os.h:", "includes pawl/mutex.h, which is not below it")

    def test_include_of_a_layer_beside(self):
        self.edit("shared/shared.c", '#include "os/shared.h"',
                  '#include "os/shared.h"\n#include "lease/leases.h"')
        self.assert_found("shared/shared.c:", "includes lease/leases.h")

    def test_include_that_goes_up_in_the_simulators(self):
        path = os.path.join(self.tree, "sim", "explore", "random.c")
        self.spoil(path, lint.read(path).replace("<sim/common/dice.h>", "<sim/cores/cores.h>"))
        self.assert_found("explore/random.c:", "includes sim/cores/cores.h, which is not below")

    def test_include_of_another_subcommand(self):
        self.edit("cli/run/run.c", '#include "cli/commands.h"',
                  '#include "cli/commands.h"\n#include "cli/try/try.h"')
        self.assert_found("cli/run/run.c:", "includes cli/try/try.h")

    def test_common_include_of_a_subcommand(self):
        self.edit("cli/common/stats.c", '#include "cli/common/stats.h"',
                  '#include "cli/common/stats.h"\n#include "cli/try/try.h"')
        self.assert_found("cli/common/stats.c:", "includes cli/try/try.h")

    def test_header_that_includes_a_source(self):
        self.edit("thread.h", "#include <pawl/atomic.h>",
                  '#include <pawl/atomic.h>\n#include "os/os.h"')
        self.assert_found("thread.h:", "includes os/os.h")

    def test_headers_that_include_each_other(self):
        self.edit("word.h", "#include <pawl/backend/memory.h>",
                  "#include <pawl/backend/memory.h>\n#include <pawl/park.h>")
        self.assert_found("includes", "which includes it")

    def test_include_that_does_not_say_where(self):
        self.edit("preload/jump.c", '"preload/preload.h"', '"preload.h"')
        self.assert_found("preload/jump.c:", "say where, from src on")

    def test_source_without_label(self):
        self.edit("sleep/guard.c", "pawl_exchange_release(guard, 0) == 2) /* [R] */",
                  "pawl_exchange_release(guard, 0) == 2)")
        status, output = self.lint()
        self.assertEqual(status, 1)
        self.assertIn("pawl_exchange_release carries no label", output)
        self.assertIn("label [A]'s partner [R] is carried by nothing", output)

    def test_orphan_label_in_a_source(self):
        self.plant("os/x.c", "/* What it is. */\n#include <pawl/atomic.h>\n\n"
                             "void f(pawl_atomic64 *w)\n{\n"
                             "\tpawl_store_release(w, 1); /* [Z] */\n}\n")
        self.assert_found("os/x.c:", "label [Z] is not explained by its partner")

    def test_label_whose_partner_is_nowhere(self):
        self.plant("os/x.c", "/* What it is. [Z] pairs with [Y]. */\n"
                             "#include <pawl/atomic.h>\n\n"
                             "void f(pawl_atomic64 *w)\n{\n"
                             "\tpawl_store_release(w, 1); /* [Z] */\n}\n")
        self.assert_found("os/x.c:", "label [Z]'s partner [Y] is carried by nothing")

    def test_label_whose_partner_is_not_in_the_file_named(self):
        self.edit("sync/mutex.c", "[E] pairs with [F] of sleep/park.c",
                  "[E] pairs with [F] of sleep/guard.c")
        self.assert_found("sync/mutex.c:", "partner [F] is carried by nothing in sleep/guard.c")

    def test_label_alone_that_pairs_with_itself(self):
        self.plant("os/x.c", "/* What it is. [Z] pairs with itself. */\n"
                             "#include <pawl/atomic.h>\n\n"
                             "void f(pawl_atomic64 *w)\n{\n"
                             "\tpawl_store_release(w, 1); /* [Z] */\n}\n")
        self.assert_found("os/x.c:", "pairs with itself, but nothing else carries it")

    def test_label_that_is_explained_but_not_used(self):
        self.edit("sleep/guard.c", "Order: [A] pairs with [R]",
                  "Order: [Q] pairs with [R]. [A] pairs with [R]")
        self.assert_found("sleep/guard.c:", "[Q] is explained, but no operation carries it")

    def test_relaxed_in_a_source_without_a_reason(self):
        self.edit("lease/stats.c", "\t/* Relaxed: only its owner counts, and readers need no order. */\n",
                  "")
        status, output = self.lint()
        self.assertEqual(status, 1)
        self.assertIn("stats.c", output)
        self.assertIn("say in a comment why relaxed is enough", output)

    def test_second_registrar_for_fork(self):
        self.plant("lease/x.c", "#include <pthread.h>\n\nvoid f(void)\n{\n"
                                "\tpthread_atfork(0, 0, f);\n}\n")
        self.assert_found("lease/x.c:", "registers for fork")

    def test_second_registrar_for_fork_in_life(self):
        self.plant("life/x.c", "#include <pthread.h>\n\nvoid f(void)\n{\n"
                               "\tpthread_atfork(0, 0, f);\n}\n")
        self.assert_found("life/x.c:", "registers for fork")
    def write_lines(self, count, opening):
        self.plant("x.c", opening + "int x;\n" * (count - 2))

    def test_file_that_is_too_long(self):
        self.write_lines(601, "/* Whatever. */\n")
        self.assert_found("x.c", "601 lines")

    def test_file_that_says_why_it_is_long(self):
        self.write_lines(601, "/* Whatever. Long: a table that is read as a whole. */\n")
        self.assertEqual(self.lint(), (0, ""))

    def test_file_that_says_so_too_late(self):
        self.plant("x.c", "/* Whatever. */\n" + "int x;\n" * 599 + "/* Long: nobody reads this. */\n")
        self.assert_found("x.c", "602 lines")

    def test_file_that_is_just_short_enough(self):
        self.write_lines(600, "/* Whatever. */\n")
        self.assertEqual(self.lint(), (0, ""))

    def test_card_without_a_field(self):
        self.edit("ticket.h", " * Lifetime   [R] is unlock's last access", " * [R] is unlock's last access")
        self.assert_found("ticket.h", 'the card has 0 fields "Lifetime"')

    def test_card_with_fields_out_of_order(self):
        self.edit("tas.h", " * Lifetime   [R] is", " * Checked   [R] is")
        self.edit("tas.h", " * Checked    tests/locks", " * Lifetime    tests/locks")
        self.assert_found("tas.h", "not in the order")

    def test_lock_without_header(self):
        self.edit("locks.def", "PAWL_LOCK(tas,", "PAWL_LOCK(nothing,")
        self.assert_found("nothing.h", "does not exist")

    @unittest.skipUnless(shutil.which("clang-format"), "no clang-format")
    def test_formatting(self):
        with open(os.path.join(ROOT, ".clang-format")) as file:
            self.spoil(os.path.join(self.tree, ".clang-format"), file.read())
        self.edit("tas.h", "\treturn pawl_cas_acquire", "    return pawl_cas_acquire")
        status, output = self.lint("--root", self.tree)
        self.assertEqual(status, 1)
        self.assertIn("clang-format", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
