/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/cycle_trace.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

START_TEST(each_step_takes_what_passed_since_the_one_before)
{
    struct fake_clock time = FAKE_CLOCK;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct cycle_trace s;

    cycle_trace_begin(&s, &time.clock);
    fake_clock_advance(&time, 2000);
    cycle_trace_mark(&s, STEP_SNAPSHOT);
    fake_clock_advance(&time, 163000);
    cycle_trace_mark(&s, STEP_FILTER);
    cycle_trace_format(&s, &text);

    ck_assert_str_eq(text.text, "Snapshot 2 ms, Filter 163 ms");
    ck_assert_int_eq(cycle_trace_total_us(&s), 165000);
}
END_TEST

START_TEST(a_step_that_runs_twice_took_both_times)
{
    struct fake_clock time = FAKE_CLOCK;
    struct cycle_trace s;

    cycle_trace_begin(&s, &time.clock);
    fake_clock_advance(&time, 1000);
    cycle_trace_mark(&s, STEP_FILTER);
    fake_clock_advance(&time, 500);
    cycle_trace_mark(&s, STEP_FILTER);

    ck_assert_int_eq(s.took_us[STEP_FILTER], 1500);
}
END_TEST

START_TEST(a_step_that_did_not_run_is_not_told)
{
    struct fake_clock time = FAKE_CLOCK;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct cycle_trace s;

    cycle_trace_begin(&s, &time.clock);
    cycle_trace_mark(&s, STEP_RESERVE);
    cycle_trace_format(&s, &text);

    ck_assert_str_eq(text.text, "Reserve 0 ms");
}
END_TEST

static struct fake_clock *slow_clock;

static void
slow_filter(void *self, const struct cycle *c, const struct node_view *const *nodes, unsigned count,
            struct answer *answers)
{
    (void)self, (void)c, (void)nodes, (void)count, (void)answers;
    fake_clock_advance(slow_clock, 150000);
}

/* Returns the log of one cycle. */
static char *
log_of_cycle(struct world *w)
{
    int log = dup(STDERR_FILENO), file = memfd_create("log", 0);
    char *text = xcalloc(1, 4096);

    dup2(file, STDERR_FILENO);
    world_settle(w);
    dup2(log, STDERR_FILENO);
    ck_assert_int_ge(pread(file, text, 4095, 0), 0);
    close(log);
    close(file);
    return text;
}

START_TEST(a_slow_cycle_tells_the_log_where_its_time_went)
{
    static const struct plugin slow = {.name = "Slow", .filter = slow_filter};
    struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .n_plugins = n_default_profile + 1,
        .percentage_of_nodes = 100,
    };
    struct world *w;
    char *text;

    memcpy(plugins, default_profile, n_default_profile * sizeof(*plugins));
    plugins[n_default_profile] = (struct profile_plugin){.plugin = &slow};
    w = world_new(&(struct scheduler_settings){.profiles = &profile, .n_profiles = 1});
    slow_clock = &w->time;
    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", "");
    text = log_of_cycle(w);

    ck_assert_msg(strstr(text, "pod 'default/a' took 150 ms to place among 1 nodes: Snapshot "
                               "0 ms, PreFilter 0 ms, Filter 150 ms")
                      != NULL,
                  "%s", text);
    free(text);
    world_free(w);
}
END_TEST

SUITE("steps", each_step_takes_what_passed_since_the_one_before,
      a_step_that_runs_twice_took_both_times, a_step_that_did_not_run_is_not_told,
      a_slow_cycle_tells_the_log_where_its_time_went)
