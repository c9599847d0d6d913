/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/object.h"

#include <check.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s", err.text);
    return object;
}

static const char pod_text[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\","
    "\"namespace\":\"a\",\"resourceVersion\":\"17\","
    "\"creationTimestamp\":\"2024-06-01T00:00:00Z\",\"labels\":{\"x\":\"y\"},"
    "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
    "\"name\":\"j\",\"uid\":\"u\",\"controller\":true}]},"
    "\"spec\":{\"volumes\":[{\"name\":\"v\","
    "\"persistentVolumeClaim\":{\"claimName\":\"c\"}}],"
    "\"containers\":[{\"name\":\"main\",\"image\":\"host\","
    "\"resources\":{\"requests\":{\"cpu\":\"2\"}}}],"
    "\"terminationGracePeriodSeconds\":0,\"nodeName\":\"n1\","
    "\"affinity\":{\"nodeAffinity\":{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
    "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\","
    "\"operator\":\"In\",\"values\":[\"1\",\"2\"]}]}]}}},"
    "\"execution\":{\"stdoutPath\":\"out\"}},"
    "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":"
    "\"main\",\"state\":{\"terminated\":{\"exitCode\":3,\"startedAt\":null,"
    "\"finishedAt\":\"2024-06-01T00:00:01Z\"}},\"lastState\":{},"
    "\"ready\":false,\"restartCount\":0,\"image\":\"host\",\"imageID\":\"\"}],"
    "\"allocation\":{\"cpus\":\"0-1\"}}}";

START_TEST(a_pod_keeps_its_text_and_shows_its_fields)
{
    CLEANUP(object_unrefp) const struct object *o = parse(&pod_kind, pod_text);
    const struct pod *pod = pod_of(o);
    struct container_state state;

    ck_assert_str_eq(object_text(o, NULL), pod_text);
    ck_assert_uint_eq(o->length, strlen(pod_text));
    ck_assert_int_eq(o->revision, 17);
    ck_assert_str_eq(pod->meta.name, "p");
    ck_assert_str_eq(meta_controller(&pod->meta)->name, "j");
    ck_assert_str_eq(pod->spec.volumes.items[0].claim_name, "c");
    ck_assert_str_eq(string_map_find(&pod->spec.containers.items[0].resources.requests, "cpu"),
                     "2");
    ck_assert_int_eq(*pod->spec.termination_grace_seconds, 0);
    ck_assert_ptr_null(pod->spec.active_deadline_seconds);
    ck_assert_str_eq(pod->spec.affinity->node_affinity->required->terms.items[0]
                         .match_expressions.items[0]
                         .values.items[1],
                     "2");
    ck_assert_str_eq(pod->spec.execution->stdout_path, "out");
    ck_assert_str_eq(pod->status.allocation->cpus, "0-1");
    ck_assert(pod_main_state(pod, &state));
    ck_assert(state.terminated);
    ck_assert_int_eq(state.exit_code, 3);
    ck_assert_int_eq(state.finished_at_us - pod->meta.created_at_us, 1000000);
    ck_assert(!pod_is_finished(pod));
}
END_TEST

START_TEST(members_that_upstream_always_writes_are_written)
{
    CLEANUP(object_unrefp)
    const struct object *job =
        parse(&job_kind, "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{"
                         "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}}");

    ck_assert_str_eq(object_text(job, NULL),
                     "{\"metadata\":{\"name\":\"j\",\"creationTimestamp\":null}"
                     ",\"spec\":{\"template\":{\"metadata\":{"
                     "\"creationTimestamp\":null},\"spec\":{\"containers\":[{"
                     "\"name\":\"c\",\"resources\":{}}]}}},\"status\":{}}");
    ck_assert_str_eq(job_of(job)->spec.template_.spec->containers.items[0].name, "c");
}
END_TEST

START_TEST(the_last_reference_frees)
{
    const struct object *o = parse(&node_kind, "{\"metadata\":{\"name\":\"n\"},"
                                               "\"status\":{\"topology\":{\"cpus\":[1,{"
                                               "\"a\":\"b\"}]}}}");

    ck_assert_ptr_eq(object_ref(o), o);
    object_unref(o);
    ck_assert_str_eq(json_get_text(json_at(json_get(node_of(o)->status.topology, "cpus"), 1), "a"),
                     "b");
    object_unref(o);
    object_unref(NULL);
}
END_TEST

START_TEST(a_tree_of_an_object_is_free_to_edit)
{
    CLEANUP(object_unrefp) const struct object *o = parse(&pod_kind, pod_text);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = object_tree(o, arena);

    json_set_string(arena, json_get(tree, "metadata"), "resourceVersion", "18");
    CLEANUP(object_unrefp)
    const struct object *next = object_new(&pod_kind, tree);

    ck_assert_int_eq(next->revision, 18);
    ck_assert_int_eq(o->revision, 17);
    ck_assert_str_eq(object_text(o, NULL), pod_text);
}
END_TEST

START_TEST(keys_name_the_namespace_where_there_is_one)
{
    CLEANUP(object_unrefp)
    const struct object *node = parse(&node_kind, "{\"metadata\":{\"name\":\"n\"}}");
    CLEANUP(object_unrefp)
    const struct object *pod = parse(&pod_kind, pod_text);
    char key[OBJECT_KEY_SIZE];

    object_key(node, key);
    ck_assert_str_eq(key, "n");
    object_key(pod, key);
    ck_assert_str_eq(key, "a/p");
}
END_TEST

START_TEST(text_that_is_no_object_is_refused)
{
    static const char *const cases[] = {
        "",
        "null",
        "[]",
        "{\"metadata\":1}",
        "{\"metadata\":{\"name\":[]}}",
        "{\"spec\":{\"containers\":{}}}",
        "{\"spec\":{\"containers\":[1]}}",
        "{\"spec\":{\"priority\":\"1\"}}",
        "{\"spec\":{\"nodeSelector\":{\"a\":{}}}}",
        "{\"metadata\":{\"creationTimestamp\":\"now\"}}",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct object *o = NULL;
        struct error err = {0};

        ck_assert_int_lt(object_parse(&pod_kind, cases[i], strlen(cases[i]), &o, &err), 0);
        ck_assert_ptr_null(o);
        ck_assert_str_ne(err.text, "");
    }
}
END_TEST

SUITE("object", a_pod_keeps_its_text_and_shows_its_fields,
      members_that_upstream_always_writes_are_written, the_last_reference_frees,
      a_tree_of_an_object_is_free_to_edit, keys_name_the_namespace_where_there_is_one,
      text_that_is_no_object_is_refused)
