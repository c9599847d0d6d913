/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/framework.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

extern const struct plugin submission_order_plugin;

/* A waiting pod of one CPU, so that one pod runs at a time. */
static void
add_waiting(struct world *w, const char *name, int priority, const char *eligible, int job,
            int index)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\","
                  "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"annotations\":{"
                  "\"kiln.hpc/eligible-at\":\"%s\",\"kiln.hpc/job-id\":\"%d\","
                  "\"batch.kubernetes.io/job-completion-index\":\"%d\"}},\"spec\":{"
                  "\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{"
                  "\"requests\":{\"cpu\":\"1\"}}}]}}",
                  name, eligible, job, index, priority);

    fake_client_put(w->api, &pod_kind, text);
}

static const char *
find_placed(const struct world *w, const char *const *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (fake_client_find(w->api, &pod_kind, "default", names[i]) != NULL
            && *world_node_of(w, names[i]) != '\0')
            return names[i];
    return "none";
}

START_TEST(the_order_is_that_of_what_is_stored_whatever_was_seen_first)
{
    static const char *const wanted[] = {"first", "third", "second", "a", "b", "held", "odd"};
    struct world *w = world_new(NULL);

    add_waiting(w, "odd", 0, "tomorrow or so", 1, 0);
    add_waiting(w, "held", 0, "2025-12-31T13:00:00.000001Z", 3, 0);
    add_waiting(w, "b", 0, "2025-12-31T13:00:00.000000Z", 5, 1);
    add_waiting(w, "a", 0, "2025-12-31T13:00:00.000000Z", 5, 0);
    add_waiting(w, "second", 0, "2025-12-31T12:00:00.000000Z", 2, 0);
    add_waiting(w, "third", 0, "2025-12-31T12:00:00.000000Z", 1, 9);
    add_waiting(w, "first", 7, "2025-12-31T14:00:00.000000Z", 9, 0);
    world_add_node(w, "n1", 1);

    for (unsigned i = 0; i < ARRAY_SIZE(wanted); i++) {
        world_restart(w);
        world_advance(w, 20000);
        ck_assert_str_eq(find_placed(w, wanted, ARRAY_SIZE(wanted)), wanted[i]);
        fake_client_remove(w->api, &pod_kind, "default", wanted[i]);
    }
    world_free(w);
}
END_TEST

SUITE("submission_order", the_order_is_that_of_what_is_stored_whatever_was_seen_first)
