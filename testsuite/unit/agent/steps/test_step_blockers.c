/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_blockers.h"

#include "testsuite/lib/suite.h"

#define MANY 1000

/* What waits here wants the CPUs of `wanted`, and is tried against `busy`. */
struct waiter {
    struct step_blocked blocked;
    struct bitset wanted;
};

static struct step_blockers *blockers;
static struct bitset busy;
static unsigned n_tries, n_started;
static const struct waiter *last_started;

static bool
try(struct step_blocked *w, UNUSED void *context)
{
    struct waiter *x = container_of(w, struct waiter, blocked);
    struct bitset lacking = x->wanted;

    n_tries++;
    bitset_and(&lacking, &busy);
    if (bitset_is_empty(&lacking)) {
        n_started++;
        last_started = x;
        bitset_or(&busy, &x->wanted);
        return false;
    }
    step_blockers_add(blockers, w, bitset_next(&lacking, 0));
    return true;
}

static void
begin(void)
{
    blockers = step_blockers_new();
    busy = (struct bitset){0};
    n_tries = n_started = 0;
}

static void
wait_for(struct waiter *x, unsigned first_cpu, unsigned second_cpu)
{
    list_init(&x->blocked.link);
    x->wanted = (struct bitset){0};
    bitset_add(&x->wanted, first_cpu);
    bitset_add(&x->wanted, second_cpu);
    ck_assert(try(&x->blocked, NULL));
    n_tries = 0;
}

/* A step ends that had one CPU. */
static void
end_step(unsigned cpu)
{
    struct bitset cpus = {0}, none = {0};

    bitset_add(&cpus, cpu);
    bitset_remove(&busy, cpu);
    step_blockers_wake(blockers, &cpus, &none, try, NULL);
}

START_TEST(the_first_that_waits_for_a_cpu_gets_it_and_one_more_is_looked_at)
{
    static struct waiter all[MANY];

    begin();
    bitset_add(&busy, 3);
    for (unsigned i = 0; i < MANY; i++)
        wait_for(&all[i], 3, 3);
    for (unsigned i = 0; i < MANY; i++) {
        n_tries = 0;
        end_step(3);
        ck_assert_uint_eq(n_started, i + 1);
        ck_assert_ptr_eq(last_started, &all[i]);
        ck_assert_uint_le(n_tries, 2);
    }
    step_blockers_free(blockers);
}
END_TEST

START_TEST(the_end_of_a_step_concerns_only_what_waits_for_its_cpus)
{
    static struct waiter all[MANY];

    begin();
    bitset_add(&busy, 1);
    bitset_add(&busy, 2);
    for (unsigned i = 0; i < MANY; i++)
        wait_for(&all[i], 1, 1);
    end_step(2);
    ck_assert_uint_eq(n_tries, 0);
    step_blockers_free(blockers);
}
END_TEST

START_TEST(one_that_lacks_two_cpus_waits_for_the_second_then)
{
    struct waiter both, one;

    begin();
    bitset_add(&busy, 1);
    bitset_add(&busy, 2);
    wait_for(&both, 1, 2);
    wait_for(&one, 1, 1);
    end_step(1);
    ck_assert_uint_eq(n_started, 1);
    ck_assert_ptr_eq(last_started, &one); /* the CPU is not kept for the other */
    ck_assert_uint_eq(both.blocked.blocker, 2);
    end_step(2);
    ck_assert_uint_eq(n_started, 1);
    end_step(1);
    ck_assert_ptr_eq(last_started, &both);
    step_blockers_free(blockers);
}
END_TEST

START_TEST(gpus_and_ends_of_any_step_are_waited_for_too)
{
    struct bitset none = {0}, gpus = {0};
    struct waiter for_gpu = {0}, for_any[3] = {0};

    begin();
    bitset_add(&gpus, 1);
    step_blockers_add(blockers, &for_gpu.blocked, STEP_BLOCKER_GPU(1));
    step_blockers_wake(blockers, &gpus, &none, try, NULL);
    ck_assert_uint_eq(n_started, 0); /* that was CPU 1 */
    step_blockers_wake(blockers, &none, &gpus, try, NULL);
    ck_assert_uint_eq(n_started, 1);
    for (unsigned i = 0; i < 3; i++)
        step_blockers_add(blockers, &for_any[i].blocked, STEP_BLOCKER_ANY);
    step_blockers_wake(blockers, &none, &none, try, NULL);
    ck_assert_uint_eq(n_started, 4);
    step_blockers_free(blockers);
}
END_TEST

START_TEST(one_that_is_gone_is_not_tried)
{
    struct waiter x;

    begin();
    bitset_add(&busy, 1);
    wait_for(&x, 1, 1);
    step_blockers_remove(&x.blocked);
    end_step(1);
    ck_assert_uint_eq(n_tries, 0);
    step_blockers_free(blockers);
}
END_TEST

SUITE("step_blockers", the_first_that_waits_for_a_cpu_gets_it_and_one_more_is_looked_at,
      the_end_of_a_step_concerns_only_what_waits_for_its_cpus,
      one_that_lacks_two_cpus_waits_for_the_second_then,
      gpus_and_ends_of_any_step_are_waited_for_too, one_that_is_gone_is_not_tried)
