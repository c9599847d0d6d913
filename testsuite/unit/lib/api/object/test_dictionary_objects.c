/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/dictionary_objects.h"

#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/dictionary_text.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

/* A pod like those of ksub's jobs, as a tree. */
static struct json *
pod_tree(struct arena *arena, unsigned i, const char *spec)
{
    const char *text =
        arena_printf(arena,
                     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                     "\"job-%u-0\",\"namespace\":\"a\",\"uid\":\"uid-of-%u\","
                     "\"resourceVersion\":\"%u\",\"creationTimestamp\":"
                     "\"2024-06-01T00:00:00Z\",\"labels\":{\"kiln.hpc/user\":\"alice\"},"
                     "\"annotations\":{\"kiln.hpc/user\":\"alice\","
                     "\"kiln.hpc/job-id\":\"%u\"},\"ownerReferences\":[{\"apiVersion\":"
                     "\"batch/v1\",\"kind\":\"Job\",\"name\":\"job-%u\",\"uid\":\"u%u\","
                     "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"main\","
                     "\"image\":\"host\",\"resources\":{\"limits\":{\"memory\":\"16Gi\"},"
                     "\"requests\":{\"cpu\":\"8\",\"memory\":\"16Gi\"}},\"workingDir\":"
                     "\"/home/alice/project\"}],\"restartPolicy\":\"Never\","
                     "\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\"}],"
                     "\"execution\":{\"stdoutPath\":\"/home/alice/project/out\"}%s},"
                     "\"status\":{\"phase\":\"Pending\"}}",
                     i, i, i + 1, i, i, i, spec);
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(tree);
    ck_assert_int_eq(record_normalize(pod_kind.record, arena, tree, NULL, NULL), 0);
    return tree;
}

static void
assert_same(const struct object *a, const struct object *b)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    ck_assert_uint_eq(a->length, b->length);
    ck_assert_str_eq(object_text(a, arena), object_text(b, arena));
    ck_assert_int_eq(a->revision, b->revision);
    ck_assert(json_equals(record_encode(a->kind->record, arena, a->view),
                          record_encode(b->kind->record, arena, b->view)));
    ck_assert(json_equals(object_tree(a, arena), object_tree(b, arena)));
}

START_TEST(an_object_beside_a_pattern_reads_as_it_does_alone)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    static const char *const specs[] = {
        "",
        ",\"nodeName\":\"n1\"",
        ",\"nodeSelector\":{\"a\":\"b\"},\"priority\":7",
        ",\"hostNetwork\":true,\"schedulerName\":\"other\"",
        ",\"activeDeadlineSeconds\":60",
    };

    for (unsigned i = 0; i < 3 * ARRAY_SIZE(specs); i++) {
        struct json *tree = pod_tree(arena, i, specs[i % ARRAY_SIZE(specs)]);
        CLEANUP(object_unrefp)
        const struct object *alone = object_new(&pod_kind, tree);
        CLEANUP(object_unrefp)
        const struct object *beside = object_new_packed(&pod_kind, tree, p);

        assert_same(beside, alone);
        ck_assert_int_eq(object_is_whole(beside), i == 0);
    }
}
END_TEST

/* The result equals the tree with that number, alone and beside a pattern, also
 * when words of users look like the number.
 */
START_TEST(an_object_at_another_revision_differs_in_the_number_alone)
{
    static const int64_t revisions[] = {2, 9, 10, 123456789012};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();

    for (unsigned i = 0; i < 4; i++) {
        CLEANUP(object_unrefp) const struct object *again = NULL;
        CLEANUP(object_unrefp) const struct object *twice = NULL;
        CLEANUP(object_unrefp) const struct object *alone = NULL;
        struct json *tree = pod_tree(arena, i, ",\"nodeName\":\"n1\"");
        struct json *meta = json_get(tree, "metadata");
        const struct object *object;

        json_set_string(arena, json_get(meta, "annotations"), "resourceVersion", "1");
        json_set_string(arena, json_get(meta, "labels"), "resourceVersion", "1");
        object = object_new_packed(&pod_kind, tree, p);
        ck_assert_int_eq(object_is_whole(object), i == 0);
        again = object_renumbered(object, revisions[i]);
        object_unref(object);
        twice = object_renumbered(again, 77);
        json_set_string(arena, meta, "resourceVersion",
                        arena_printf(arena, "%" PRId64, revisions[i]));
        alone = object_new(&pod_kind, tree);

        assert_same(again, alone);
        ck_assert(!object_is_whole(again));
        ck_assert_int_eq(twice->revision, 77);
        ck_assert_str_eq(twice->meta->resource_version, "77");
        ck_assert_uint_eq(strlen(object_text(twice, arena)), twice->length);
    }
}
END_TEST

/* The result equals the merged tree, and the sources may be freed. */
START_TEST(a_patched_object_is_as_one_that_is_made_of_the_merged_tree)
{
    static const char patch_text[] =
        "{\"metadata\":{\"resourceVersion\":\"99\"},\"spec\":{\"nodeName\":"
        "\"n7\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\","
        "\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":"
        "\"2024-06-01T00:00:00Z\"}],\"allocation\":{\"cpus\":\"0-3\","
        "\"memoryNodes\":\"0\"}}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    struct json *patch = json_parse(arena, patch_text, strlen(patch_text), NULL, NULL);

    for (unsigned i = 0; i < 3; i++) {
        CLEANUP(object_unrefp) const struct object *patched = NULL;
        CLEANUP(object_unrefp) const struct object *alone = NULL;
        CLEANUP(object_unrefp) const struct object *next = NULL;
        struct json *tree = pod_tree(arena, i, ",\"hostNetwork\":true");
        const struct object *object = object_new_packed(&pod_kind, tree, p);

        patched = object_patched(object, patch, arena, p);
        object_unref(object);
        ck_assert_ptr_nonnull(patched);
        tree = json_merge(arena, tree, patch);
        ck_assert_int_eq(record_normalize(pod_kind.record, arena, tree, NULL, NULL), 0);
        alone = object_new(&pod_kind, tree);

        assert_same(patched, alone);
        ck_assert_str_eq(pod_of(patched)->spec.node_name, "n7");
        ck_assert_ptr_null(object_patched(patched, patch, arena, p));
        next = object_renumbered(patched, 5);
        ck_assert_uint_eq(strlen(object_text(next, arena)), next->length);
    }
}
END_TEST

static uint32_t
next_number(uint32_t *state)
{
    *state = *state * 1103515245 + 12345;
    return *state >> 16;
}

/* A random part of everything that a status may contain, in lists, structs and
 * trees.
 */
static struct json *
random_status(struct arena *arena, uint32_t *state)
{
    static const char *const parts[] = {
        "{\"phase\":\"Running\"}",
        "{\"phase\":\"Failed\",\"reason\":\"Error\",\"message\":\"a }\"}",
        "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{"
        "\"type\":\"Initialized\",\"status\":\"False\",\"reason\":\"x\"}]}",
        "{\"startTime\":\"2024-06-01T00:00:00Z\",\"qosClass\":\"Burstable\"}",
        "{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}"
        "},\"ready\":true,\"restartCount\":2,\"image\":\"host\",\"imageID\":"
        "\"\"}]}",
        "{\"allocation\":{\"cpus\":\"0-3\",\"memoryNodes\":\"0\"}}",
        "{\"observed\":{\"cpus\":\"0-3\",\"processes\":4}}",
        "{\"usage\":{\"peakMemoryBytes\":123456789012}}",
        "{\"cause\":{\"code\":\"NoNode\",\"message\":\"0 of 9\"}}",
    };
    struct json *status = json_object(arena);

    for (unsigned i = 0; i < ARRAY_SIZE(parts); i++)
        if (next_number(state) % 2)
            status = json_merge(arena, status,
                                json_parse(arena, parts[i], strlen(parts[i]), NULL, NULL));
    ck_assert_int_eq(record_normalize(&pod_status_record, arena, status, NULL, NULL), 0);
    return status;
}

/* Converts the object to one of its possible forms; takes it. */
static const struct object *
in_some_form(struct arena *arena, const struct object *object TAKES, struct dictionary_objects *p,
             uint32_t form)
{
    const struct object *other = NULL;
    struct json *patch = json_object(arena);

    if (form % 3 == 1)
        other = object_renumbered(object, 1234);
    if (form % 3 == 2) {
        json_set_string(arena, json_make_object(arena, patch, "metadata"), "resourceVersion", "77");
        json_set_string(arena, json_make_object(arena, patch, "spec"), "nodeName", "n1");
        other = object_patched(object, patch, arena, p);
    }
    if (other == NULL)
        return object;
    object_unref(object);
    return other;
}

/* Makes the object again from its tree, as callers do after NULL. */
static void
make_whole(struct arena *arena, const struct object *object, struct json *status,
           struct dictionary_objects *p)
{
    struct json *tree = object_tree(object, arena);

    json_set(arena, tree, "status", status);
    object_unref(object_new_packed(&pod_kind, tree, p));
}

/* For every form and spec, repeatedly; the sources are freed before the result
 * is compared.
 */
START_TEST(an_object_with_another_status_is_as_one_that_is_made_of_its_tree)
{
    static const char *const specs[] = {
        "",
        ",\"nodeName\":\"n1\",\"priority\":-7",
        ",\"hostNetwork\":true,\"nodeSelector\":{\"a\":\"b\",\"c\":\"\"}",
        ",\"initContainers\":[{\"name\":\"i\",\"image\":\"x\",\"command\":["
        "\"a\",\"}\"],\"env\":[{\"name\":\"A\",\"value\":\"1\"}],"
        "\"resources\":{\"limits\":{\"cpu\":\"2\"}}}]",
        ",\"affinity\":{\"nodeAffinity\":{"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\","
        "\"operator\":\"In\",\"values\":[\"v\",\"w\"]}]}]}}}",
        ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"placement\":{"
        "\"numaPolicy\":\"restricted\"},\"activeDeadlineSeconds\":60,"
        "\"terminationGracePeriodSeconds\":5,\"securityContext\":{"
        "\"runAsUser\":2001,\"supplementalGroups\":[1,2]}",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    uint32_t state = 3;
    unsigned made = 0;

    for (unsigned i = 0; i < 200; i++) {
        const char *spec = specs[next_number(&state) % ARRAY_SIZE(specs)];
        struct json *tree = pod_tree(arena, i, spec);
        CLEANUP(object_unrefp)
        const struct object *object = object_new_packed(&pod_kind, tree, p);

        object = in_some_form(arena, object, p, next_number(&state));
        tree = object_tree(object, arena);
        for (unsigned k = 0; k < 4; k++) {
            CLEANUP(object_unrefp) const struct object *alone = NULL;
            struct json *status = random_status(arena, &state);
            const int64_t revision = 1000000 + i * 10 + k;
            const struct object *with = object_with_status(object, status, revision, arena, p);

            if (with == NULL) { /* there is nothing to pack it beside */
                make_whole(arena, object, status, p);
                break;
            }
            made++;
            object_unref(object);
            object = with;
            json_set(arena, tree, "status", status);
            json_set_string(arena, json_get(tree, "metadata"), "resourceVersion",
                            arena_printf(arena, "%" PRId64, revision));
            alone = object_new(&pod_kind, tree);
            assert_same(object, alone);
        }
    }
    ck_assert_uint_gt(made, 700);
}
END_TEST

/* No byte of former statuses is kept. */
START_TEST(an_object_does_not_grow_with_its_statuses)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    CLEANUP(object_unrefp)
    const struct object *object = object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p);
    size_t first = 0;
    unsigned made = 0;

    for (unsigned i = 0; i < 50; i++) {
        uint32_t state = 5;
        struct json *status = random_status(arena, &state);
        const struct object *with = object_with_status(object, status, 1000 + i, arena, p);

        if (with == NULL) { /* it is kept as a whole */
            make_whole(arena, object, status, p);
            continue;
        }
        made++;
        object_unref(object);
        object = with;
        if (i == 1)
            first = object_bytes(object);
    }
    ck_assert_uint_gt(made, 40);
    ck_assert_uint_le(object_bytes(object), first + 16);
}
END_TEST

/* The status of a PodDisruptionBudget has no struct of its own. */
/* The view of an object shares arrays with its dictionary. A version that is
 * packed against another dictionary has copies of these arrays.
 */
START_TEST(a_status_keeps_the_dictionary_of_its_object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    CLEANUP(object_unrefp)
    const struct object *first = object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p);
    CLEANUP(object_unrefp)
    const struct object *pod = object_new_packed(&pod_kind, pod_tree(arena, 1, ""), p);
    const char *text = "{\"phase\":\"Running\"}";
    struct json *status = json_parse(arena, text, strlen(text), NULL, NULL);
    struct json *tree = pod_tree(arena, 2, "");
    const struct object *other, *with;

    /* The dictionary that was used last is another one. */
    json_set(arena, tree, "status", status);
    other = object_new(&pod_kind, tree);
    dictionary_objects_add(p, tree, other);
    with = object_with_status(pod, status, 1000, arena, p);
    ck_assert_ptr_nonnull(with);
    ck_assert_uint_le(object_bytes(with), object_bytes(pod) + 32);
    object_unref(with);

    /* So it is when its own dictionary is forgotten, but with copies. */
    for (unsigned i = 3; i < 7; i++) {
        CLEANUP(object_unrefp)
        const struct object *next = object_new(&pod_kind, pod_tree(arena, i, ""));

        dictionary_objects_add(p, pod_tree(arena, i, ""), next);
    }
    with = object_with_status(pod, status, 1001, arena, p);
    ck_assert_ptr_nonnull(with);
    ck_assert_uint_gt(object_bytes(with), object_bytes(pod) + 32);
    object_unref(with);
    object_unref(other);
    ck_assert(object_is_whole(first));
}
END_TEST

START_TEST(a_status_among_the_other_members_is_put_into_no_object)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"labels\":{\"c\":"
        "\"0123456789012345678901234567890123456789012345678901234567890\"},"
        "\"uid\":\"2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d\",\"resourceVersion\":"
        "\"5\"},\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"d\":"
        "\"e\"}}},\"status\":{\"disruptionsAllowed\":0,\"currentHealthy\":0,"
        "\"desiredHealthy\":0,\"expectedPods\":0}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    struct json *tree = json_parse(arena, text, sizeof(text) - 1, NULL, NULL);
    const struct kind *kind = kind_find_any_name("PodDisruptionBudget");
    CLEANUP(object_unrefp)
    const struct object *first = object_new_packed(kind, tree, p);
    CLEANUP(object_unrefp)
    const struct object *second = object_new_packed(kind, tree, p);

    ck_assert(object_is_whole(first));
    ck_assert(!object_is_whole(second));
    ck_assert_ptr_null(object_with_status(second, json_get(tree, "status"), 7, arena, p));
}
END_TEST

START_TEST(an_object_beside_a_pattern_is_small)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    CLEANUP(object_unrefp)
    const struct object *first = object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p);
    CLEANUP(object_unrefp)
    const struct object *second = object_new_packed(&pod_kind, pod_tree(arena, 1, ""), p);

    ck_assert_uint_lt(object_bytes(second), object_bytes(first) / 2);
    ck_assert_ptr_eq(pod_of(second)->spec.containers.items, pod_of(first)->spec.containers.items);
}
END_TEST

/* Pending pods, each with its reason, come among new ones. */
START_TEST(objects_are_small_though_the_first_of_them_lacked_their_words)
{
    static const char status[] =
        "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
        "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":"
        "\"0/0 nodes are available: no nodes are here to schedule the pod\"}],"
        "\"cause\":{\"code\":\"ReqNodeNotAvail\",\"message\":"
        "\"the cluster has no nodes\"}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    size_t fresh = 0, first = 0, last = 0;
    unsigned n_whole = 0;

    for (unsigned i = 0; i < 200; i++) {
        struct json *tree = pod_tree(arena, 100 + i, "");
        CLEANUP(object_unrefp)
        const struct object *object = object_new_packed(&pod_kind, tree, p);
        CLEANUP(object_unrefp) const struct object *waiting = NULL;

        json_set(arena, tree, "status", json_parse(arena, status, strlen(status), NULL, NULL));
        waiting = object_new_packed(&pod_kind, tree, p);
        n_whole += object_is_whole(object) + object_is_whole(waiting);
        fresh = object_bytes(object);
        last = object_bytes(waiting);
        if (i == 1)
            first = last;
    }

    ck_assert_uint_lt(last + 100, first);
    ck_assert_uint_lt(last, fresh + 100);
    ck_assert_uint_lt(n_whole, 10);
}
END_TEST

START_TEST(a_pattern_lives_as_long_as_what_is_held_beside_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct dictionary_objects *p = dictionary_objects_new();
    const struct object *first = object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p);
    const struct object *second = object_new_packed(&pod_kind, pod_tree(arena, 1, ""), p);
    CLEANUP(object_unrefp)
    const struct object *alone = object_new(&pod_kind, pod_tree(arena, 1, ""));

    object_unref(first);
    dictionary_objects_free(p);

    assert_same(second, alone);
    object_unref(second);
}
END_TEST

START_TEST(an_object_without_a_like_is_whole_and_a_pattern_from_then_on)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    char other[1500];
    uint32_t x = 1;

    for (unsigned i = 0; i < sizeof(other) - 1; i++) {
        x = x * 1103515245 + 12345; /* pseudo-random, so that nothing repeats */
        other[i] = (char)('a' + (x >> 16) % 26);
    }
    other[sizeof(other) - 1] = '\0';
    object_unref(object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p));
    for (unsigned i = 1; i < 4; i++) {
        CLEANUP(object_unrefp)
        const struct object *o = object_new_packed(
            &pod_kind, pod_tree(arena, i, arena_printf(arena, ",\"hostname\":\"%s\"", other)), p);
        CLEANUP(object_unrefp)
        const struct object *as_before = object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p);

        ck_assert_int_eq(object_is_whole(o), i == 1);
        ck_assert(!object_is_whole(as_before));
    }
}
END_TEST

START_TEST(kinds_are_no_patterns_of_each_other)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    struct json *tree = pod_tree(arena, 0, "");
    CLEANUP(object_unrefp)
    const struct object *pod = object_new_packed(&pod_kind, tree, p);

    json_set_string(arena, tree, "kind", "Job");
    ck_assert_int_eq(record_normalize(job_kind.record, arena, tree, NULL, NULL), 0);
    CLEANUP(object_unrefp)
    const struct object *job = object_new_packed(&job_kind, tree, p);

    ck_assert(object_is_whole(pod));
    ck_assert(object_is_whole(job));
}
END_TEST

START_TEST(long_and_short_objects_are_whole)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();
    char *text = arena_text(arena, DICTIONARY_TEXT_MAX);

    memset(text, 'x', DICTIONARY_TEXT_MAX);
    for (unsigned i = 0; i < 2; i++) {
        struct json *tree = json_object(arena);
        CLEANUP(object_unrefp) const struct object *brief = NULL;
        CLEANUP(object_unrefp) const struct object *lengthy = NULL;

        json_set_string(arena, json_make_object(arena, tree, "metadata"), "name", "p");
        brief = object_new_packed(&pod_kind, tree, p);
        lengthy = object_new_packed(
            &pod_kind, pod_tree(arena, i, arena_printf(arena, ",\"hostname\":\"%s\"", text)), p);
        ck_assert(object_is_whole(brief));
        ck_assert(object_is_whole(lengthy));
    }
}
END_TEST

START_TEST(an_object_restored_beside_a_pattern_keeps_its_text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *p = dictionary_objects_new();

    for (unsigned i = 0; i < 3; i++) {
        struct json *tree = pod_tree(arena, i, "");
        CLEANUP(object_unrefp)
        const struct object *alone = object_new(&pod_kind, tree);
        CLEANUP(object_unrefp)
        const struct object *again =
            object_restore(&pod_kind, tree, object_text(alone, arena), alone->length, p);

        assert_same(again, alone);
        ck_assert_int_eq(object_is_whole(again), i == 0);
    }
}
END_TEST

#define READERS 4
#define READS   2000

static void *
read_often(void *arg)
{
    const struct object *object = arg;

    for (unsigned i = 0; i < READS; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP(object_unrefp) const struct object *own = object_ref(object);

        if (strstr(object_text(own, arena), "\"job-1-0\"") == NULL
            || strcmp(own->meta->name, "job-1-0") != 0)
            return arg;
    }
    object_unref(object);
    return NULL;
}

START_TEST(many_threads_read_what_one_made)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct dictionary_objects *p = dictionary_objects_new();
    pthread_t threads[READERS];
    const struct object *o;
    void *failed;

    object_unref(object_new_packed(&pod_kind, pod_tree(arena, 0, ""), p));
    o = object_new_packed(&pod_kind, pod_tree(arena, 1, ""), p);
    for (unsigned i = 0; i < READERS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, read_often, (void *)(uintptr_t)object_ref(o)), 0);
    dictionary_objects_free(p);
    object_unref(o);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

SUITE("dictionaries", an_object_beside_a_pattern_reads_as_it_does_alone,
      an_object_at_another_revision_differs_in_the_number_alone,
      a_patched_object_is_as_one_that_is_made_of_the_merged_tree,
      an_object_with_another_status_is_as_one_that_is_made_of_its_tree,
      an_object_does_not_grow_with_its_statuses, a_status_keeps_the_dictionary_of_its_object,
      a_status_among_the_other_members_is_put_into_no_object, an_object_beside_a_pattern_is_small,
      objects_are_small_though_the_first_of_them_lacked_their_words,
      a_pattern_lives_as_long_as_what_is_held_beside_it,
      an_object_without_a_like_is_whole_and_a_pattern_from_then_on,
      kinds_are_no_patterns_of_each_other, long_and_short_objects_are_whole,
      an_object_restored_beside_a_pattern_keeps_its_text, many_threads_read_what_one_made)
