/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_state.h"

#include <check.h>
#include <string.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(every_state_has_its_words)
{
    for (unsigned i = JOB_STATE_PENDING; i < JOB_STATE_COUNT; i++) {
        const struct job_state_words *w = job_state_words((enum job_state)i);

        ck_assert_str_ne(w->name, "");
        ck_assert_str_ne(w->code, "");
        ck_assert_str_ne(w->long_code, "");
        ck_assert_int_eq(job_state_of_name(w->name), (int)i);
        ck_assert(job_states_of_word(w->code) & JOB_STATE_BIT(i));
        ck_assert(job_states_of_word(w->name) == JOB_STATE_BIT(i));
        for (unsigned j = JOB_STATE_PENDING; j < i; j++)
            ck_assert_str_ne(w->name, job_state_words((enum job_state)j)->name);
    }
}
END_TEST

START_TEST(an_unknown_state_has_no_words)
{
    static const char *const words[] = {"", "pending ", "Complet", "X", ","};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        ck_assert_uint_eq(job_states_of_word(words[i]), 0);
        ck_assert_int_eq(job_state_of_name(words[i]), JOB_STATE_NONE);
    }
    ck_assert_int_eq(job_state_of_name(NULL), JOB_STATE_NONE);
    ck_assert_str_eq(job_state_words(JOB_STATE_NONE)->name, "");
    ck_assert_str_eq(job_state_words((enum job_state)99)->name, "");
}
END_TEST

/* The wire form has one spelling; users write many. */
START_TEST(people_write_states_in_many_ways)
{
    uint32_t waiting = JOB_STATE_BIT(JOB_STATE_PENDING) | JOB_STATE_BIT(JOB_STATE_HELD)
                       | JOB_STATE_BIT(JOB_STATE_REQUEUED);

    ck_assert_int_eq(job_state_of_name("timedout"), JOB_STATE_NONE);
    ck_assert_uint_eq(job_states_of_word("timedout"), JOB_STATE_BIT(JOB_STATE_TIMED_OUT));
    ck_assert_uint_eq(job_states_of_word("TIMEOUT"), JOB_STATE_BIT(JOB_STATE_TIMED_OUT));
    ck_assert_uint_eq(job_states_of_word("oom"), JOB_STATE_BIT(JOB_STATE_OUT_OF_MEMORY));
    ck_assert_uint_eq(job_states_of_word("pd"), waiting);
    ck_assert_uint_eq(job_states_of_word("pending"), JOB_STATE_BIT(JOB_STATE_PENDING));
}
END_TEST

START_TEST(a_state_is_active_or_ended)
{
    ck_assert_uint_eq(JOB_STATES_ACTIVE & JOB_STATES_ENDED, 0);
    for (unsigned i = JOB_STATE_PENDING; i < JOB_STATE_COUNT; i++) {
        bool is_ended = (JOB_STATES_ENDED & JOB_STATE_BIT(i)) != 0;
        enum job_state_class class = job_state_words((enum job_state)i)->class;

        ck_assert(is_ended != ((JOB_STATES_ACTIVE & JOB_STATE_BIT(i)) != 0));
        ck_assert(is_ended == job_state_is_ended((enum job_state)i));
        ck_assert(is_ended == (class != JOB_STATE_WAITS && class != JOB_STATE_RUNS));
    }
}
END_TEST

SUITE("job_state", every_state_has_its_words, an_unknown_state_has_no_words,
      people_write_states_in_many_ways, a_state_is_active_or_ended)
