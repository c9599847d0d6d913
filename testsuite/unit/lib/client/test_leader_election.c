/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/leader_election.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

struct candidate {
    struct leader_election *leadership;
    unsigned gained, lost, told;
    atomic_bool is_failing;
};

static struct fake_clock fake_time = FAKE_CLOCK;
static struct fake_client *api;
static struct candidate a, b;

static void
count_gain(void *context)
{
    ((struct candidate *)context)->gained++;
}

static void
count_loss(const char *why, void *context)
{
    ck_assert(*why != '\0');
    ((struct candidate *)context)->lost++;
}

static void
count_failure(const char *why, void *context)
{
    ck_assert(*why != '\0');
    ((struct candidate *)context)->told++;
}

static void
begin(struct candidate *c, const char *identity)
{
    c->leadership = leader_election_new(&(struct leader_election_settings){
        .client = fake_client_client(api),
        .clock = &fake_time.clock,
        .namespace = "kube-system",
        .name = "kube-scheduler",
        .identity = identity,
        .group = strchr(identity, '_') != NULL ? "heads" : NULL,
        .lease_us = 15 * FAKE_SECOND,
        .renew_us = 10 * FAKE_SECOND,
        .retry_us = 2 * FAKE_SECOND,
        .gained = count_gain,
        .lost = count_loss,
        .failed = count_failure,
        .context = c,
        .is_failing = &c->is_failing,
    });
}

static bool
leads(const struct candidate *c)
{
    return c->gained > c->lost;
}

static void
pass(struct candidate *c, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        fake_clock_advance(&fake_time, FAKE_SECOND);
        leader_election_tick(c->leadership);
        fake_client_run(api);
    }
}

static void
setup(void)
{
    api = fake_client_new();
    a = b = (struct candidate){0};
    begin(&a, "a");
    begin(&b, "b");
}

static void
teardown(void)
{
    leader_election_free(a.leadership);
    leader_election_free(b.leadership);
    fake_client_free(api);
}

static const struct lease_spec *
lease(void)
{
    return &lease_of(fake_client_find(api, &lease_kind, "kube-system", "kube-scheduler"))->spec;
}

START_TEST(the_first_to_ask_leads_and_the_other_waits)
{
    setup();
    pass(&a, 3);
    pass(&b, 3);

    ck_assert(leads(&a));
    ck_assert(!leads(&b));
    ck_assert_str_eq(lease()->holder, "a");
    ck_assert_int_eq(lease()->duration_s, 15);
    ck_assert_int_eq(lease()->transitions, 0);
    teardown();
}
END_TEST

START_TEST(a_lease_that_is_renewed_is_never_taken)
{
    setup();
    for (unsigned i = 0; i < 60; i++) {
        pass(&a, 1);
        pass(&b, 1);
    }

    ck_assert_uint_eq(a.gained, 1);
    ck_assert_uint_eq(a.lost, 0);
    ck_assert_uint_eq(b.gained, 0);
    teardown();
}
END_TEST

START_TEST(a_lease_that_is_not_renewed_is_taken_when_it_has_run_out_and_not_before)
{
    setup();
    pass(&a, 3);
    pass(&b, 14);
    ck_assert_uint_eq(b.gained, 0);
    pass(&b, 4);

    ck_assert_uint_eq(b.gained, 1);
    ck_assert_str_eq(lease()->holder, "b");
    ck_assert_int_eq(lease()->transitions, 1);
    teardown();
}
END_TEST

START_TEST(a_leader_that_cannot_renew_stops_before_the_lease_runs_out)
{
    setup();
    pass(&a, 1);
    ck_assert(leads(&a));
    for (unsigned i = 0; i < 9; i++) {
        fake_client_fail(api, CLIENT_REPLACE, NULL, 500, "InternalError");
        fake_client_fail(api, CLIENT_GET, NULL, 500, "InternalError");
        pass(&a, 1);
    }
    ck_assert_uint_eq(a.lost, 0);
    ck_assert(atomic_load(&a.is_failing));
    fake_clock_advance(&fake_time, FAKE_SECOND);
    leader_election_tick(a.leadership);

    ck_assert_uint_eq(a.lost, 1);
    ck_assert(!leads(&a));
    teardown();
}
END_TEST

START_TEST(a_former_leader_finds_another_in_its_place_and_is_well)
{
    setup();
    pass(&a, 1);
    pass(&b, 18);
    ck_assert(leads(&b));
    pass(&a, 3);

    ck_assert_uint_eq(a.lost, 1);
    ck_assert(!leads(&a));
    ck_assert(!atomic_load(&a.is_failing));
    ck_assert_str_eq(lease()->holder, "b");
    teardown();
}
END_TEST

START_TEST(oneself_before_a_restart_is_not_waited_for)
{
    setup();
    pass(&a, 1);
    leader_election_free(a.leadership);
    begin(&a, "a");
    pass(&a, 1);

    ck_assert_uint_eq(a.gained, 2);
    ck_assert_int_eq(lease()->transitions, 0);
    teardown();
}
END_TEST

START_TEST(a_successor_from_the_same_group_does_not_wait)
{
    struct candidate c = {0}, d = {0};

    setup();
    begin(&c, "one_heads");
    begin(&d, "two_heads");
    pass(&c, 1);
    pass(&d, 1);

    ck_assert(leads(&d));
    ck_assert_str_eq(lease()->holder, "two_heads");
    pass(&a, 1);
    ck_assert(!leads(&a));
    leader_election_free(c.leadership);
    leader_election_free(d.leadership);
    teardown();
}
END_TEST

START_TEST(a_lease_that_somebody_deleted_is_made_again_at_once)
{
    setup();
    pass(&a, 1);
    fake_client_remove(api, &lease_kind, "kube-system", "kube-scheduler");
    pass(&a, 2);

    ck_assert_str_eq(lease()->holder, "a");
    ck_assert(!atomic_load(&a.is_failing));
    ck_assert_uint_eq(a.lost, 0);
    ck_assert_uint_eq(a.told, 0);
    teardown();
}
END_TEST

START_TEST(a_leader_that_finds_another_in_the_lease_stops_at_once)
{
    setup();
    pass(&a, 1);
    fake_client_put(api, &lease_kind,
                    "{\"metadata\":{\"name\":\"kube-scheduler\",\"namespace\":"
                    "\"kube-system\"},\"spec\":{\"holderIdentity\":\"b\","
                    "\"leaseDurationSeconds\":15}}");
    fake_client_fail(api, CLIENT_REPLACE, NULL, 409, "Conflict");
    pass(&a, 2); /* one retry period */

    ck_assert_uint_eq(a.lost, 1);
    ck_assert_str_eq(lease()->holder, "b");
    teardown();
}
END_TEST

START_TEST(a_lease_that_cannot_be_taken_is_told_of_once)
{
    setup();
    for (unsigned i = 0; i < 6; i++) {
        fake_client_fail(api, CLIENT_CREATE, NULL, 403, "Forbidden");
        pass(&a, 2);
    }
    ck_assert_uint_eq(a.gained, 0);
    ck_assert_uint_eq(a.told, 1);
    ck_assert(!atomic_load(&a.is_failing));
    pass(&a, 2);

    ck_assert_uint_eq(a.gained, 1);
    teardown();
}
END_TEST

SUITE("leadership", a_lease_that_somebody_deleted_is_made_again_at_once,
      a_leader_that_finds_another_in_the_lease_stops_at_once,
      a_lease_that_cannot_be_taken_is_told_of_once, the_first_to_ask_leads_and_the_other_waits,
      a_lease_that_is_renewed_is_never_taken,
      a_lease_that_is_not_renewed_is_taken_when_it_has_run_out_and_not_before,
      a_leader_that_cannot_renew_stops_before_the_lease_runs_out,
      a_former_leader_finds_another_in_its_place_and_is_well,
      oneself_before_a_restart_is_not_waited_for, a_successor_from_the_same_group_does_not_wait)
