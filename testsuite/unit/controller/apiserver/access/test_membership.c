/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/membership.h"

#include <semaphore.h>
#include <unistd.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define PHYSICS "/api/v1/namespaces/physics"

/* Users that every system has. */
static const struct principal daemon_ = PERSON(USER, 1, "daemon");
static const struct principal bin = PERSON(USER, 2, "bin");

static sem_t go_on;

static void
block(void *arg)
{
    (void)arg;
    sem_wait(&go_on);
}

static void
unblocked(void *arg)
{
    (void)arg;
}

static void
set_members(struct world *w, const char *members)
{
    CLEANUP_FREE char *patch =
        xasprintf("{\"metadata\":{\"annotations\":{\"" ANNOTATION_MEMBERS "\":%s}}}", members);

    ck_assert_int_eq(world_code(w, &admin, HTTP_PATCH, PHYSICS, patch), 200);
    loop_drain(w->loop);
}

/* Waits until the result of a worker's look-up is known. */
static bool
will_have(struct world *w, const struct membership *m, const struct principal *who)
{
    for (int i = 0; i < 5000 && !membership_has(m, "physics", who); i++) {
        loop_drain(w->loop);
        usleep(1000);
    }
    return membership_has(m, "physics", who);
}

static struct membership *
begin(struct world *w)
{
    world_init(w);
    ck_assert_int_eq(world_code(w, &admin, HTTP_POST, "/api/v1/namespaces",
                                "{\"metadata\":{\"name\":\"physics\"}}"),
                     201);
    return membership_new(w->loop, w->store, w->workers);
}

static void
end(struct world *w, struct membership *m)
{
    membership_stop(m);
    world_fini(w);
    membership_free(m);
}

START_TEST(members_are_those_that_are_named)
{
    struct world w;
    struct membership *m = begin(&w);

    ck_assert(membership_has(m, "default", &bin));
    ck_assert(!membership_has(m, "physics", &bin));
    ck_assert(!membership_has(m, "nowhere", &bin));
    ck_assert(!membership_has(m, NULL, &bin));

    set_members(&w, "\"ghost-of-nobody daemon\"");
    ck_assert(will_have(&w, m, &daemon_));
    ck_assert(!membership_has(m, "physics", &bin));

    set_members(&w, "\"*\"");
    ck_assert(membership_has(m, "physics", &bin));
    set_members(&w, "null");
    ck_assert(!membership_has(m, "physics", &bin));
    ck_assert(!membership_has(m, "physics", &daemon_));
    end(&w, m);
}
END_TEST

START_TEST(nobody_is_locked_out_while_names_are_looked_up)
{
    struct world w;
    struct membership *m = begin(&w);

    set_members(&w, "\"daemon\"");
    ck_assert(will_have(&w, m, &daemon_));

    sem_init(&go_on, 0, 0);
    workers_submit(w.workers, w.loop, block, unblocked, NULL);
    set_members(&w, "\"daemon bin\"");
    ck_assert(membership_has(m, "physics", &daemon_));
    ck_assert(!membership_has(m, "physics", &bin));

    sem_post(&go_on);
    ck_assert(will_have(&w, m, &bin));
    ck_assert(membership_has(m, "physics", &daemon_));
    end(&w, m);
}
END_TEST

SUITE("membership", members_are_those_that_are_named,
      nobody_is_locked_out_while_names_are_looked_up)
