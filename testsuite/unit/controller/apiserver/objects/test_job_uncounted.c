/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/removed_pod.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "testsuite/lib/suite.h"

static const struct principal controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

static const struct object *
find_job(const struct world *w, const char *name)
{
    return store_find(w->store, STORE_PENDING, &job_kind, "default", name);
}

static void
begin(struct world *w)
{
    world_init(w);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\"")), 201);
}

static void
make_and_remove(struct world *w, int n, const char *mark)
{
    CLEANUP_FREE char *path = xasprintf(PODS "/j-%d", n);
    CLEANUP_FREE char *much = xasprintf("%0300d", 0);
    CLEANUP_FREE char *body = xasprintf(
        "{\"metadata\":{\"name\":\"j-%d\",\"annotations\":{\"kiln.hpc/%s\":\"true\","
        "\"kiln.hpc/mine\":\"%s\",\"example.com/notes\":\"long\"},\"ownerReferences\":[{\"apiVersion\":"
        "\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true"
        "}]},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"command\":"
        "[\"/bin/true\"]}]}}",
        n, mark, much, find_job(w, "j")->meta->uid);

    ck_assert_int_eq(world_code(w, &controller, HTTP_POST, PODS, body), 201);
    ck_assert_int_eq(world_code(w, &controller, HTTP_DELETE, path, NULL), 200);
}

START_TEST(a_pod_that_is_removed_leaves_its_end_in_its_job)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_WORLD struct world w;
    const struct json *list;
    struct pod pod;

    begin(&w);
    make_and_remove(&w, 0, "surplus");

    list = job_of(find_job(&w, "j"))->status.removed_pods;
    ck_assert_uint_eq(json_count(list), 1);
    ck_assert(removed_pod_read(arena, json_at(list, 0), &pod));
    ck_assert_str_eq(pod.meta.name, "j-0");
    ck_assert_int_ne(pod.meta.deleted_at_us, 0);
    ck_assert_str_eq(pod.status.phase, "Pending");
    ck_assert_ptr_nonnull(string_map_find(&pod.meta.annotations, "kiln.hpc/surplus"));
    ck_assert_ptr_null(string_map_find(&pod.meta.annotations, "example.com/notes"));
    ck_assert_ptr_null(string_map_find(&pod.meta.annotations, "kiln.hpc/mine"));
}
END_TEST

START_TEST(a_job_lists_the_last_of_many_and_those_that_were_wanted)
{
    CLEANUP_WORLD struct world w;
    const struct json *list;

    begin(&w);
    for (int i = 0; i < REMOVED_PODS_MOST + 3; i++)
        make_and_remove(&w, i, i == 1 ? "other" : "surplus");

    list = job_of(find_job(&w, "j"))->status.removed_pods;
    ck_assert_uint_eq(json_count(list), REMOVED_PODS_MOST);
    ck_assert_str_eq(json_path_text(json_at(list, 0), "metadata.name"), "j-1");
    ck_assert_str_eq(json_path_text(json_at(list, 1), "metadata.name"), "j-4");
}
END_TEST

START_TEST(a_pod_without_a_job_is_just_removed)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a", NULL), 200);
    ck_assert_ptr_null(job_of(find_job(&w, "j"))->status.removed_pods);
}
END_TEST

SUITE("job_uncounted", a_pod_that_is_removed_leaves_its_end_in_its_job,
      a_job_lists_the_last_of_many_and_those_that_were_wanted, a_pod_without_a_job_is_just_removed)
