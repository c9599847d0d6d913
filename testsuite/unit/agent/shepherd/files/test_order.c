/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/order.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "agent/shepherd/files/key_values.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static const char *arguments[] = {"/bin/sh", "-c", "exit 0"};
static const char *environment[] = {"A=1", "B=two\nlines"};

static struct order
whole_order(void)
{
    struct order o;

    order_init(&o);
    o.pod = "default/p";
    o.pod_uid = "u-1";
    o.state_dir = "/s";
    o.run_dir = "/r";
    o.uid = 1000;
    o.gid = 100;
    o.allow_root = true;
    o.shepherd_cgroup = "shepherds\n2 0 /c\n";
    o.job_cgroup = "p\n2 0 /c/p\n";
    o.cpus = "0-3";
    o.memory_nodes = "0";
    o.memory_policy = "interleave";
    o.arguments = (struct order_list){arguments, 3};
    o.environment = (struct order_list){environment, 2};
    o.work_dir = "/w";
    o.stdout_path = "/w/out";
    o.append = true;
    o.checkpoint = "save 'all of it'\n";
    o.umask = 077;
    o.limits[0] = (struct rlimit_setting){RLIMIT_NOFILE, 10, RLIM_INFINITY};
    o.n_limits = 1;
    return o;
}

static int
decode(const struct order *o, struct order *ret_order, struct error *err)
{
    struct strbuf text = STRBUF_INIT;
    size_t length;

    order_encode(o, &text);
    length = text.length;
    return order_decode(strbuf_take(&text), length, ret_order, err);
}

START_TEST(an_order_arrives_as_it_was_given)
{
    struct order given = whole_order();
    struct order o;
    CLEANUP_STRBUF struct strbuf before = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf after = STRBUF_INIT;

    ck_assert_int_eq(decode(&given, &o, NULL), 0);
    order_encode(&given, &before);
    order_encode(&o, &after);

    ck_assert_str_eq(before.text, after.text);
    ck_assert_uint_eq(o.environment.count, 2);
    ck_assert_str_eq(o.environment.items[1], "B=two\nlines");
    ck_assert_ptr_null(o.environment.items[2]);
    ck_assert(o.limits[0].hard == RLIM_INFINITY);
    ck_assert_ptr_null(o.stderr_path);
    order_fini(&o);
}
END_TEST

START_TEST(lists_of_any_length_arrive)
{
    enum { MANY = 1000 };
    const char *many[MANY];
    struct order given = whole_order();

    for (size_t i = 0; i < MANY; i++)
        many[i] = "x";
    for (size_t n = 1; n <= MANY; n = n * 2 + 1) {
        struct order o;

        given.arguments = (struct order_list){many, n};
        ck_assert_int_eq(decode(&given, &o, NULL), 0);
        ck_assert_uint_eq(o.arguments.count, n);
        ck_assert_ptr_null(o.arguments.items[n]);
        order_fini(&o);
    }
}
END_TEST

static void
lose_pod(struct order *o)
{
    o->pod = NULL;
}
static void
lose_uid(struct order *o)
{
    o->uid = -1;
}
static void
grow_uid(struct order *o)
{
    o->uid = UINT32_MAX;
}
static void
lose_work_dir(struct order *o)
{
    o->work_dir = NULL;
}
static void
make_relative(struct order *o)
{
    o->stdout_path = "out";
}
static void
empty_path(struct order *o)
{
    o->state_dir = "";
}
static void
spoil_cpus(struct order *o)
{
    o->cpus = "0-";
}
static void
empty_cpus(struct order *o)
{
    o->cpus = "";
}
static void
spoil_policy(struct order *o)
{
    o->memory_policy = "most";
}
static void
spoil_umask(struct order *o)
{
    o->umask = 01000;
}
static void
spoil_score(struct order *o)
{
    o->oom_score_adj = 1001;
}
static void
spoil_timeout(struct order *o)
{
    o->groups_timeout_ms = 0;
}
static void
lose_program(struct order *o)
{
    o->arguments.count = 0;
}

static void
grow_script(struct order *o)
{
    o->script_bytes = ORDER_SCRIPT_BYTES + 1;
}

static void
spoil_environment(struct order *o)
{
    environment[0] = "NOTHING";
    o->environment.count = 1;
}

START_TEST(an_absurd_order_is_refused_with_the_reason)
{
    static const struct {
        void (*spoil)(struct order *o);
        const char *says;
    } cases[] = {
        {lose_pod, "no pod"},
        {lose_uid, "no uid"},
        {grow_uid, "out of range"},
        {lose_work_dir, "no work_dir"},
        {make_relative, "stdout_path must not be 'out'"},
        {empty_path, "state_dir must not be ''"},
        {spoil_cpus, "'0-'"},
        {empty_cpus, "empty"},
        {spoil_policy, "no memory policy 'most'"},
        {spoil_umask, "out of range"},
        {spoil_score, "out of range"},
        {spoil_timeout, "out of range"},
        {lose_program, "nothing to run"},
        {grow_script, "larger than 4194304"},
        {spoil_environment, "'NOTHING'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct order given = whole_order();
        struct order o;
        struct error err = {0};

        cases[i].spoil(&given);
        ck_assert_int_lt(decode(&given, &o, &err), 0);
        ck_assert_msg(strstr(err.text, cases[i].says), "'%s' does not say '%s'", err.text,
                      cases[i].says);
    }
}
END_TEST

START_TEST(an_entry_that_is_not_known_is_refused)
{
    static const char *const entries[][2] = {
        {"sandbox", "1"},        {"limit", "nofile 1"}, {"limit", "nofiles 1 1"},
        {"limit", "nofile 2 1"}, {"append", "yes"},     {"uid", "root"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
        struct order o;
        struct strbuf text = STRBUF_INIT;
        size_t length;

        key_values_begin(&text, "kiln-order 1");
        key_values_put_text(&text, entries[i][0], entries[i][1]);
        key_values_end(&text);
        length = text.length;
        ck_assert_int_eq(order_decode(strbuf_take(&text), length, &o, NULL), -EINVAL);
    }
}
END_TEST

START_TEST(an_order_cut_short_anywhere_is_refused)
{
    struct order given = whole_order();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    order_encode(&given, &text);
    for (size_t length = 0; length < text.length; length++) {
        struct order o;

        ck_assert_int_lt(order_decode(xmemdup(text.text, length + 1), length, &o, NULL), 0);
    }
}
END_TEST

SUITE("order", an_order_arrives_as_it_was_given, lists_of_any_length_arrive,
      an_absurd_order_is_refused_with_the_reason, an_entry_that_is_not_known_is_refused,
      an_order_cut_short_anywhere_is_refused)
