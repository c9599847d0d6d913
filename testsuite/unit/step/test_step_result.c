/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_result.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "step/step_link.h"
#include "testsuite/lib/suite.h"

/* The rest of kiln-step */

struct strbuf *
step_link_out(UNUSED struct step_link *l)
{
    abort();
}

#define ACCEPTED_MS INT64_C(1000000)

/* A signal of krun to a step of one task that was accepted so long ago. */
static bool
has_timed_out(int64_t limit_s, int64_t age_ms)
{
    struct step_figures figures = {0};
    struct step_result *r = step_result_new(&figures);

    step_result_accept(r, ACCEPTED_MS);
    step_result_begin(r, 1);
    step_result_note_signal(r, limit_s, ACCEPTED_MS + age_ms);
    free(r);
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

START_TEST(a_step_without_a_limit_does_not_time_out)
{
    ck_assert(!has_timed_out(0, 100000));
}
END_TEST

START_TEST(the_highest_exit_code_counts_with_its_signal)
{
    struct step_figures figures = {0};
    struct step_result *r = step_result_new(&figures);

    step_result_add_exit(r, &(struct step_exit){.exit_code = 3});
    step_result_add_exit(r, &(struct step_exit){.signal = 9});
    step_result_add_exit(r, &(struct step_exit){.exit_code = 7});
    ck_assert_uint_eq(figures.exit_code, 128 + 9);
    ck_assert_uint_eq(figures.signal, 9);
    free(r);
}
END_TEST

SUITE("step result", a_time_limit_counts_from_the_acceptance,
      a_clock_of_another_machine_may_be_a_little_slower, a_step_without_a_limit_does_not_time_out,
      the_highest_exit_code_counts_with_its_signal)
