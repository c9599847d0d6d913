/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/lineage/run_chain.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* A store: its chain, and the last revision that its newest run has issued. */
struct place {
    struct run_chain chain;
    int64_t revision;
};

static void
open_as(struct place *p, uint64_t run, int64_t found, int64_t revision)
{
    run_chain_open(&p->chain, run, p->chain.epoch + 1, found);
    p->revision = revision;
}

static void
copy(const struct place *from, struct place *to)
{
    CLEANUP_FREE char *text = run_chain_format(&from->chain);

    run_chain_fini(&to->chain);
    run_chain_parse(text, &to->chain);
    to->revision = from->revision;
}

/* What the store has in common with a node that has seen another one. */
static int64_t
common(const struct place *p, const struct place *seen)
{
    struct strbuf brief = STRBUF_INIT;
    int64_t result;

    run_chain_write_brief(&seen->chain, seen->revision, &brief);
    result = run_chain_common(&p->chain, p->revision, seen->chain.links[seen->chain.count - 1].run,
                              seen->revision, brief.text);
    strbuf_fini(&brief);
    return result;
}

START_TEST(a_store_that_goes_on_has_all_that_a_node_has_seen)
{
    struct place p = {0}, seen = {0};

    open_as(&p, 0xa, 0, 100);
    copy(&p, &seen);
    ck_assert_int_eq(common(&p, &seen), 100);
    open_as(&p, 0xb, 100, 300);
    ck_assert_int_eq(common(&p, &seen), 100);
    for (uint64_t run = 1; run < 100; run++)
        open_as(&p, 0x1000 + run, 300, 300);
    ck_assert_int_eq(common(&p, &seen), 100);
    run_chain_fini(&p.chain);
    run_chain_fini(&seen.chain);
}
END_TEST

/* However often the copy was opened, and whatever it issued since. */
START_TEST(a_copy_lacks_what_was_issued_after_it)
{
    struct place p = {0}, seen = {0};

    open_as(&p, 0xa, 0, 100);
    copy(&p, &seen);
    seen.revision = 150; /* the store went on, and a node has seen it */
    open_as(&p, 0xb, 100, 1000);
    ck_assert_int_eq(common(&p, &seen), 100);
    open_as(&p, 0xc, 1000, 2000);
    ck_assert_int_eq(common(&p, &seen), 100);
    open_as(&p, 0xd, 2000, 2000);
    ck_assert_int_eq(common(&p, &seen), 100);
    run_chain_fini(&p.chain);
    run_chain_fini(&seen.chain);
}
END_TEST

START_TEST(two_branches_of_a_copy_have_the_copy_in_common)
{
    struct place a = {0}, b = {0}, again = {0};

    open_as(&a, 0xa, 0, 100);
    copy(&a, &b);
    open_as(&a, 0xa1, 100, 500);
    open_as(&b, 0xb1, 80, 500); /* the copy was made at revision 80 */
    ck_assert_int_eq(common(&b, &a), 80);
    ck_assert_int_eq(common(&a, &b), 80);
    copy(&a, &again);
    open_as(&again, 0xa2, 400, 600); /* and back, to a copy that was made at 400 */
    ck_assert_int_eq(common(&again, &b), 80);
    ck_assert_int_eq(common(&again, &a), 400);
    run_chain_fini(&a.chain);
    run_chain_fini(&b.chain);
    run_chain_fini(&again.chain);
}
END_TEST

START_TEST(marks_without_a_chain_are_of_an_earlier_release)
{
    struct place p = {0};

    open_as(&p, 0xa, 100, 200);
    ck_assert_int_eq(run_chain_common(&p.chain, 200, 0x99, 90, NULL), 90);
    ck_assert_int_eq(run_chain_common(&p.chain, 200, 0x99, 100, NULL), 100);
    ck_assert_int_eq(run_chain_common(&p.chain, 200, 0x99, 120, NULL), 100);
    /* An earlier release had the store in between. */
    run_chain_open(&p.chain, 0xb, p.chain.epoch + 2, 300);
    ck_assert_int_eq(run_chain_common(&p.chain, 400, 0x99, 120, NULL), 120);
    ck_assert_int_eq(run_chain_common(&p.chain, 400, 0x99, 320, NULL), 300);
    run_chain_fini(&p.chain);
}
END_TEST

START_TEST(an_unreadable_text_names_no_run)
{
    struct run_chain chain;

    run_chain_parse("what is this", &chain);
    ck_assert_uint_eq(chain.count, 0);
    ck_assert_int_eq(chain.unnamed, 0);
    run_chain_fini(&chain);
}
END_TEST

START_TEST(chains_stay_short)
{
    struct place p = {0}, other = {0};
    struct strbuf brief = STRBUF_INIT;
    CLEANUP_FREE char *text = NULL;

    for (uint64_t run = 1; run <= 400; run++)
        open_as(&p, run, 100 * (int64_t)run, 100 * (int64_t)run + 50);
    copy(&p, &other);
    run_chain_write_brief(&p.chain, p.revision, &brief);
    ck_assert_uint_le(brief.length, RUN_CHAIN_BRIEF * (17 + 20));
    strbuf_fini(&brief);

    /* Two branches that are many runs long still have something in common. */
    for (uint64_t run = 401; run <= 500; run++) {
        open_as(&p, run, 100 * (int64_t)run, 100 * (int64_t)run + 50);
        open_as(&other, 0x10000 + run, 100 * (int64_t)run, 100 * (int64_t)run + 50);
    }
    ck_assert_int_le(common(&p, &other), 40100);
    ck_assert_int_gt(common(&p, &other), 20000);

    for (uint64_t run = 501; run <= 2000; run++)
        open_as(&p, run, 100 * (int64_t)run, 100 * (int64_t)run + 50);
    ck_assert_uint_eq(p.chain.count, RUN_CHAIN_MOST);
    text = run_chain_format(&p.chain);
    ck_assert_uint_lt(strlen(text), RUN_CHAIN_MOST * 40);
    /* A node that comes back after all these runs has seen nothing else. */
    ck_assert_int_eq(run_chain_common(&p.chain, p.revision, 7, 750, NULL), 750);
    run_chain_fini(&p.chain);
    run_chain_fini(&other.chain);
}
END_TEST

SUITE("run_chain", a_store_that_goes_on_has_all_that_a_node_has_seen,
      a_copy_lacks_what_was_issued_after_it, two_branches_of_a_copy_have_the_copy_in_common,
      marks_without_a_chain_are_of_an_earlier_release, an_unreadable_text_names_no_run,
      chains_stay_short)
