/* SPDX-License-Identifier: Apache-2.0 */
/* What the API wants of a node's volumes, and the reports to it. */
#include "agent/volumes/volumes.h"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/volumes/scratch.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/run_loop.h"

struct stage {
    char *dir;
    struct fake_client *api;
    struct loop *loop;
    struct workers *workers;
    struct scratch *scratch;
    struct volumes *volumes;
};

/* Runs the loop long enough to show that an event does not occur. */
static void
settle(struct stage *t)
{
    for (int i = 0; i < 20; i++)
        run_loop_step(t->api);
}

static void
begin(struct stage *t)
{
    struct error err = {0};

    t->dir = scratch_new();
    t->api = fake_client_new();
    t->loop = fake_client_client(t->api)->loop;
    t->workers = workers_new(2);
    ck_assert_msg(scratch_open(t->dir, 1 << 20, &t->scratch, &err) == 0, "%s", err.text);
    t->volumes = volumes_new(&(struct volumes_settings){
        .loop = t->loop,
        .workers = t->workers,
        .client = fake_client_client(t->api),
        .scratch = t->scratch,
        .node = "n1",
        .rootless = geteuid() != 0,
        .uid = geteuid(),
    });
}

static void
end(struct stage *t)
{
    volumes_free(t->volumes);
    workers_free(t->workers);
    loop_drain(t->loop);
    scratch_close(t->scratch);
    fake_client_free(t->api);
    scratch_freep(&t->dir);
}

/* `more` has further members of the metadata, each after a comma. */
static void
put(struct stage *t, const char *dir, const char *phase, const char *policy, const char *more)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"pvc-1\",\"labels\":{\"kiln.hpc/node\":"
                  "\"n1\"},\"annotations\":{\"pv.kubernetes.io/provisioned-by\":"
                  "\"kiln.hpc/node-local\",\"kiln.hpc/uid\":\"%u\"},\"finalizers\":["
                  "\"kiln.hpc/node-local\"]%s},\"spec\":{\"capacity\":{\"storage\":"
                  "\"4Ki\"},\"local\":{\"path\":\"%s/pvc-1\"},"
                  "\"persistentVolumeReclaimPolicy\":\"%s\"},\"status\":{\"phase\":"
                  "\"%s\"}}",
                  (unsigned)geteuid(), more, dir, policy, phase);

    fake_client_put(t->api, &persistent_volume_kind, text);
}

static const struct persistent_volume_status *
status(const struct stage *t)
{
    return &persistent_volume_of(fake_client_find(t->api, &persistent_volume_kind, NULL, "pvc-1"))
                ->status;
}

static bool
is_there(const struct stage *t)
{
    CLEANUP_FREE char *path = xasprintf("%s/pvc-1", t->dir);

    return access(path, F_OK) == 0;
}

static bool
phase_is(const struct stage *t, const char *phase)
{
    return strcmp(status(t)->phase, phase) == 0;
}

static bool
is_removed(const struct stage *t)
{
    const char *reason = status(t)->reason;

    return reason != NULL && strcmp(reason, REASON_REMOVED) == 0;
}

static void
make(struct stage *t, const char *policy)
{
    put(t, t->dir, "Pending", policy, "");
    run_loop_until(t->api, phase_is(t, "Available"));
}

#define DELETED ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\""

START_TEST(a_pending_volume_is_made)
{
    struct stage t = {0};

    begin(&t);
    make(&t, "Delete");

    ck_assert(is_there(&t));
    end(&t);
}
END_TEST

START_TEST(a_volume_that_cannot_be_made_has_failed_and_says_why)
{
    struct stage t = {0};

    begin(&t);
    put(&t, "/elsewhere", "Pending", "Delete", "");
    run_loop_until(t.api, phase_is(&t, "Failed"));

    ck_assert_str_eq(status(&t)->reason, "ProvisioningFailed");
    ck_assert_ptr_nonnull(strstr(status(&t)->message, "is not in the scratch directory"));
    end(&t);
}
END_TEST

START_TEST(a_deleted_volume_is_removed_and_reported)
{
    struct stage t = {0};

    begin(&t);
    make(&t, "Delete");
    put(&t, t.dir, "Released", "Delete", DELETED);
    run_loop_until(t.api, is_removed(&t));

    ck_assert(!is_there(&t));
    end(&t);
}
END_TEST

START_TEST(a_bound_volume_stays_although_it_is_deleted)
{
    struct stage t = {0};

    begin(&t);
    make(&t, "Delete");
    put(&t, t.dir, "Bound", "Delete", DELETED);
    settle(&t);

    ck_assert_ptr_null(status(&t)->reason);
    ck_assert(is_there(&t));
    end(&t);
}
END_TEST

START_TEST(a_retained_volume_stays_on_the_disk)
{
    struct stage t = {0};

    begin(&t);
    make(&t, "Retain");
    put(&t, t.dir, "Released", "Retain", DELETED);
    run_loop_until(t.api, is_removed(&t));

    ck_assert(is_there(&t));
    end(&t);
}
END_TEST

START_TEST(a_word_that_was_lost_is_said_again)
{
    struct stage t = {0};

    begin(&t);
    fake_client_run(t.api);
    fake_client_fail(t.api, CLIENT_MERGE_PATCH, "status", 503, "ServiceUnavailable");
    put(&t, t.dir, "Pending", "Delete", "");
    run_loop_until(t.api, fake_client_calls(t.api, CLIENT_MERGE_PATCH, "status") > 0);
    ck_assert(phase_is(&t, "Pending"));

    run_loop_until(t.api, phase_is(&t, "Available"));
    end(&t);
}
END_TEST

/* Work is under way on workers and in API calls. */
START_TEST(an_agent_may_stop_in_the_middle)
{
    struct stage t = {0};

    begin(&t);
    put(&t, t.dir, "Pending", "Delete", "");
    fake_client_run(t.api);
    end(&t);

    t = (struct stage){0};
    begin(&t);
    put(&t, t.dir, "Pending", "Delete", "");
    fake_client_run(t.api);
    while (!is_there(&t))
        usleep(1000);
    loop_drain(t.loop);
    end(&t);
}
END_TEST

SUITE("volumes", a_pending_volume_is_made, a_volume_that_cannot_be_made_has_failed_and_says_why,
      a_deleted_volume_is_removed_and_reported, a_bound_volume_stays_although_it_is_deleted,
      a_retained_volume_stays_on_the_disk, a_word_that_was_lost_is_said_again,
      an_agent_may_stop_in_the_middle)
