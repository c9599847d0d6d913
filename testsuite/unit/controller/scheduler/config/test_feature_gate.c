/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/feature_gate.h"

#include <check.h>
#include <errno.h>

#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

START_TEST(a_gate_is_switched_by_its_name_and_by_its_stage)
{
    struct feature_gates g;

    feature_gates_init(&g);
    ck_assert(g.is_on[FEATURE_OPPORTUNISTIC_BATCHING]);
    ck_assert_int_eq(feature_gates_set(&g, "OpportunisticBatching=false", NULL), 0);
    ck_assert(!g.is_on[FEATURE_OPPORTUNISTIC_BATCHING]);
    ck_assert_int_eq(feature_gates_set(&g, "AllBeta=true", NULL), 0);

    ck_assert(g.is_on[FEATURE_OPPORTUNISTIC_BATCHING]);
}
END_TEST

START_TEST(a_locked_gate_takes_its_own_value_alone)
{
    struct feature_gates g;
    struct error err = {0};

    feature_gates_init(&g);
    ck_assert_int_eq(feature_gates_set(&g, "SchedulerQueueingHints=true", &err), 0);
    ck_assert_int_eq(feature_gates_set(&g, "SchedulerQueueingHints=false", &err), -EINVAL);

    ck_assert_str_eq(err.text, "the feature gate 'SchedulerQueueingHints' is always on");
}
END_TEST

START_TEST(a_mistake_is_named_with_what_was_meant)
{
    struct feature_gates g;
    struct error err = {0};

    feature_gates_init(&g);
    ck_assert_int_eq(feature_gates_set(&g, "OpportunisticBatchin=true", &err), -EINVAL);
    ck_assert_str_eq(err.text, "there is no feature gate 'OpportunisticBatchin' (did you "
                               "mean 'OpportunisticBatching'?)");
    ck_assert_int_eq(feature_gates_set(&g, "AllBeta", &err), -EINVAL);
    ck_assert_int_eq(feature_gates_set(&g, "AllBeta=1", &err), -EINVAL);
}
END_TEST

SUITE("feature_gate", a_gate_is_switched_by_its_name_and_by_its_stage,
      a_locked_gate_takes_its_own_value_alone, a_mistake_is_named_with_what_was_meant)
