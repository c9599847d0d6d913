/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_words.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(states_have_slurms_words)
{
    static const struct {
        enum job_state state;
        const char *compact, *whole;
    } cases[] = {
        {JOB_STATE_NONE, "PD", "PENDING"},
        {JOB_STATE_PENDING, "PD", "PENDING"},
        {JOB_STATE_HELD, "PD", "PENDING"},
        {JOB_STATE_REQUEUED, "PD", "PENDING"},
        {JOB_STATE_STARTING, "CF", "CONFIGURING"},
        {JOB_STATE_RUNNING, "R", "RUNNING"},
        {JOB_STATE_FROZEN, "S", "SUSPENDED"},
        {JOB_STATE_UNKNOWN, "R", "RUNNING"},
        {JOB_STATE_ENDING, "CG", "COMPLETING"},
        {JOB_STATE_COMPLETED, "CD", "COMPLETED"},
        {JOB_STATE_TIMED_OUT, "TO", "TIMEOUT"},
        {JOB_STATE_OUT_OF_MEMORY, "OOM", "OUT_OF_MEMORY"},
        {JOB_STATE_NODE_FAILED, "NF", "NODE_FAIL"},
        {JOB_STATE_CANCELLED, "CA", "CANCELLED"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_str_eq(slurm_words_state(cases[i].state, true), cases[i].compact);
        ck_assert_str_eq(slurm_words_state(cases[i].state, false), cases[i].whole);
    }
}
END_TEST

START_TEST(reasons_are_codes_that_slurm_has)
{
    ck_assert_str_eq(slurm_words_reason(NULL), "None");
    ck_assert_str_eq(slurm_words_reason("Resources"), "Resources");
    ck_assert_str_eq(slurm_words_reason("AssocGrpCpuLimit"), "AssocGrpCpuLimit");
    ck_assert_str_eq(slurm_words_reason("SchedulingGated"), "JobHeldUser");
    ck_assert_str_eq(slurm_words_reason("Cancelled"), "None");
}
END_TEST

START_TEST(states_are_selected_by_either_word)
{
    uint32_t states = 0;
    const char *bad = NULL;

    ck_assert(slurm_words_parse_states("pd,RUNNING", &states, &bad));
    ck_assert_uint_eq(states, JOB_STATE_BIT(JOB_STATE_PENDING) | JOB_STATE_BIT(JOB_STATE_HELD)
                                  | JOB_STATE_BIT(JOB_STATE_REQUEUED)
                                  | JOB_STATE_BIT(JOB_STATE_RUNNING)
                                  | JOB_STATE_BIT(JOB_STATE_UNKNOWN));
    ck_assert(slurm_words_parse_states("all", &states, &bad));
    ck_assert_uint_eq(states, JOB_STATES_ACTIVE | JOB_STATES_ENDED);
    ck_assert(slurm_words_parse_states("RF,RH,SE,SO,ST,SI,RS", &states, &bad));
    ck_assert_uint_eq(states, 0);
    ck_assert(!slurm_words_parse_states("R,foo,PD", &states, &bad));
    ck_assert(strncmp(bad, "foo", 3) == 0);
}
END_TEST

START_TEST(sacct_has_no_states_that_pass)
{
    static const struct {
        const char *list, *why;
    } cases[] = {
        {"PD,running,RS,RQ,RV", NULL},
        {"CA,", NULL},
        {"all", "unrecognized job state value 'all'"},
        {"CG", "job state CG is not supported / accounted"},
        {"pd,stopped", "job state stopped is not supported / accounted"},
        {"foo,CG", "unrecognized job state value 'foo'"},
        {"RH,foo", "job state RH is not supported / accounted"},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t states = 0;
        const char *why = slurm_words_parse_accounted_states(cases[i].list, &states, arena);

        ck_assert_pstr_eq(why, cases[i].why);
    }
}
END_TEST

START_TEST(memory_is_in_the_largest_unit_that_needs_no_decimals)
{
    static const struct {
        int64_t bytes;
        char unit;
        const char *asked, *used;
    } cases[] = {
        {0, 0, "0", "0"},
        {INT64_C(100) << 20, 0, "100M", "100M"},
        {INT64_C(2048) << 20, 0, "2G", "2G"},
        {INT64_C(1500) << 20, 0, "1500M", "1500M"},
        {INT64_C(262144), 0, "1M", "256K"},
        {INT64_C(1500) << 20, 'M', "1500M", "1500M"},
        {INT64_C(1500) << 20, 'G', "1.46G", "1.46G"},
        {INT64_C(1) << 40, 'G', "1024G", "1024G"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        slurm_words_add_memory(cases[i].bytes, cases[i].unit, &out);
        ck_assert_str_eq(out.text, cases[i].asked);
        strbuf_truncate(&out, 0);
        slurm_words_add_usage(cases[i].bytes, cases[i].unit, &out);
        ck_assert_str_eq(out.text, cases[i].used);
    }
}
END_TEST

START_TEST(resources_leave_out_what_is_none)
{
    const struct slurm_tres node = {.cpus = 8, .bytes = INT64_C(1) << 30, .has_billing = true};
    const struct slurm_tres used = {.cpus = 3};
    const struct slurm_tres all = {.cpus = 4, .bytes = INT64_C(200) << 20, .nodes = 2, .gpus = 1};
    const struct slurm_tres none = {.has_billing = true};
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    slurm_words_add_tres(&node, &out);
    strbuf_add_char(&out, ' ');
    slurm_words_add_tres(&used, &out);
    strbuf_add_char(&out, ' ');
    slurm_words_add_tres(&all, &out);
    strbuf_add_char(&out, ' ');
    slurm_words_add_tres(&none, &out);
    ck_assert_str_eq(out.text, "cpu=8,mem=1G,billing=8 cpu=3 cpu=4,mem=200M,node=2,gres/gpu=1 ");
}
END_TEST

START_TEST(a_layout_is_the_order_over_nodes_and_below)
{
    const struct {
        const char *distribution;
        int64_t tasks, nodes;
        const char *words;
    } cases[] = {
        {NULL, 1, 1, "Cyclic"},
        {NULL, 2, 1, "Block"},
        {"", 4, 4, "Cyclic"},
        {"block", 1, 1, "Block"},
        {"Cyclic", 9, 3, "Cyclic"},
        {"plane=4", 9, 3, "Plane"},
        {"block:cyclic", 9, 3, "BCyclic"},
        {"cyclic:fcyclic", 9, 3, "CFCyclic"},
        {"cyclic:block:fcyclic,Pack", 9, 3, "CBlockFCyclic"},
        {"block,NoPack", 9, 3, "Block"},
        {"*:cyclic", 9, 3, "BCyclic"},
        {"*", 3, 3, "Cyclic"},
        {"block:*", 3, 3, "Block"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        slurm_words_add_layout(cases[i].distribution, cases[i].tasks, cases[i].nodes, &out);
        ck_assert_str_eq(out.text, cases[i].words);
    }
}
END_TEST

SUITE("slurm_words", states_have_slurms_words, reasons_are_codes_that_slurm_has,
      states_are_selected_by_either_word, sacct_has_no_states_that_pass,
      memory_is_in_the_largest_unit_that_needs_no_decimals, resources_leave_out_what_is_none,
      a_layout_is_the_order_over_nodes_and_below)
