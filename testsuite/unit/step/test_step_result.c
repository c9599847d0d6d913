/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/step/step_figures.h"
#include "step/step_state.h"
#include "testsuite/lib/suite.h"

/* A step of one task that was accepted so long ago, and began only now. */
static void
make_step(struct step *s, struct step_figures *figures, int64_t limit_s, int64_t age_ms)
{
    memset(s, 0, sizeof(*s));
    memset(figures, 0, sizeof(*figures));
    s->figures = figures;
    s->request.time_limit_s = limit_s;
    step_result_accept(s);
    s->accepted_ms -= age_ms;
    step_result_begin(s);
    s->n_running = 1;
}

static bool
has_timed_out(int64_t limit_s, int64_t age_ms)
{
    struct step_figures figures;
    struct step s;

    make_step(&s, &figures, limit_s, age_ms);
    step_result_note_signal(&s);
    return (figures.flags & STEP_FIGURES_TIMED_OUT) != 0;
}

START_TEST(a_time_limit_counts_from_the_acceptance)
{
    ck_assert(has_timed_out(2, 2000));
    ck_assert(!has_timed_out(60, 30000));
}
END_TEST

START_TEST(a_clock_of_another_machine_may_be_a_little_slower)
{
    ck_assert(has_timed_out(86400, INT64_C(86400) * 1000 - 5000));
    ck_assert(!has_timed_out(86400, INT64_C(86400) * 1000 - 60000));
}
END_TEST

START_TEST(a_step_without_a_limit_or_without_tasks_does_not_time_out)
{
    struct step_figures figures;
    struct step s;

    ck_assert(!has_timed_out(0, 100000));
    make_step(&s, &figures, 2, 3000);
    s.n_running = 0;
    step_result_note_signal(&s);
    ck_assert(!(figures.flags & STEP_FIGURES_TIMED_OUT));
}
END_TEST

SUITE("step result", a_time_limit_counts_from_the_acceptance,
      a_clock_of_another_machine_may_be_a_little_slower,
      a_step_without_a_limit_or_without_tasks_does_not_time_out)
