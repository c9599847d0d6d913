/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that get the same signature from a plugin get the same answers.
 *
 * Every field of a pod's metadata and spec is changed, one at a time, by
 * walking the field tables, so fields that are added to these are tested, too.
 * Each pod that the API would accept is passed to every plugin separately: a
 * repeated signature must come with the same answers as before.
 */
#include <inttypes.h>
#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/base/sanitizer.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/odd_machines.h"

#define MAX_NODES 24u
#define MACHINES  8u /* nodes without any regularity */
#define MAX_DEPTH 12u

/* Each permits something that others do not; pods name them by their words. */
static const char *const partition_texts[] = {
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"maximumTime\":\"1\","
    "\"maximumCpus\":\"2\",\"selector\":{\"matchLabels\":{\"k\":\"a\"}}}}",
    "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"maximumMemory\":\"2Gi\","
    "\"selector\":{\"matchLabels\":{\"k\":\"b\"}}}}",
    "{\"metadata\":{\"name\":\"k\"},\"spec\":{\"state\":\"Down\"}}",
};
static const char *const reservation_texts[] = {
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodes\":[\"a\",\"c\"],"
    "\"start\":\"2023-12-31T00:00:00Z\",\"users\":[\"a\"]}}",
    "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"nodes\":[\"b\",\"d\"],"
    "\"start\":\"2024-01-01T00:01:00Z\",\"users\":[\"b\"]}}",
};

/* One plugin with its arguments, and its answers. */
struct subject {
    struct profile *profile;
    struct map *answers;    /* by signature: the pod's change, then the answers */
    struct map *prefilters; /* by signature of unschedulable pods: likewise */
    struct map *hints;      /* by signature for hints: likewise */
    unsigned n_shared;      /* pods whose signature had been seen */
};

struct trial {
    struct fake_clock time;
    struct random_source random;
    struct handle handle;
    struct fake_client *api;
    struct cache *cache;
    struct snapshot snapshot;
    struct string_ids *signatures;
    struct arena *arena;
    struct subject subjects[PROFILE_MAX_PLUGINS];
    unsigned n_subjects;
    const struct object *nodes[MAX_NODES];
    struct pod_view *bound[MAX_NODES];
    unsigned n_nodes, n_bound;
    const struct object *partitions[ARRAY_SIZE(partition_texts)];
    const struct object *reservations[ARRAY_SIZE(reservation_texts)];
    struct json *pod; /* the tree that is changed */
    char path[512];   /* of the changed field */
    unsigned n_taken; /* pods that the API would accept */
    struct strbuf faults;
    unsigned n_faults;
};

/* --- the cluster ---------------------------------------------------------- */

#define MACHINE                                                              \
    ",\"topology\":{\"cpus\":\"0-7\",\"packages\":[\"0-7\"],\"cores\":["     \
    "\"0,4\",\"1,5\",\"2,6\",\"3,7\"],\"numaNodes\":[{\"node\":0,\"cpus\":"  \
    "\"0-1,4-5\",\"memory\":\"8Gi\"},{\"node\":1,\"cpus\":\"2-3,6-7\","      \
    "\"memory\":\"8Gi\"}],\"devices\":[{\"name\":\"gpu0\",\"type\":\"gpu\"," \
    "\"model\":\"a\",\"node\":1}]}"
#define ROOM                                              \
    "\"allocatable\":{\"cpu\":\"8\",\"memory\":\"16Gi\"," \
    "\"ephemeral-storage\":\"10Gi\",\"pods\":\"20\","     \
    "\"hugepages-2Mi\":\"1Gi\",\"kiln.hpc/gpu\":\"1\"}"
#define LITTLE_ROOM "\"allocatable\":{\"cpu\":\"2\",\"memory\":\"3Gi\",\"pods\":\"2\"}"

static const char *const node_texts[] = {
    "{\"metadata\":{\"name\":\"a\"},\"status\":{" ROOM "}}",
    "{\"metadata\":{\"name\":\"b\",\"labels\":{\"k\":\"a\",\"topology.kubernetes.io/zone\":\"b\"}},\"status\":"
    "{" ROOM MACHINE "}}",
    "{\"metadata\":{\"name\":\"c\",\"labels\":{\"k\":\"b\",\"n\":\"7\"}},"
    "\"status\":{" LITTLE_ROOM "}}",
    "{\"metadata\":{\"name\":\"d\",\"labels\":{\"n\":\"2\"}},\"spec\":{"
    "\"taints\":[{\"key\":\"k\",\"value\":\"a\",\"effect\":\"NoSchedule\"}]},"
    "\"status\":{" ROOM MACHINE "}}",
    "{\"metadata\":{\"name\":\"e\"},\"spec\":{\"taints\":[{\"key\":\"k\","
    "\"value\":\"b\",\"effect\":\"PreferNoSchedule\"},{\"key\":\"n\","
    "\"effect\":\"PreferNoSchedule\"}]},\"status\":{" LITTLE_ROOM "}}",
    "{\"metadata\":{\"name\":\"f\"},\"spec\":{\"unschedulable\":true,"
    "\"taints\":[{\"key\":\"node.kubernetes.io/unschedulable\",\"effect\":"
    "\"NoSchedule\"}]},\"status\":{" ROOM "}}",
    "{\"metadata\":{\"name\":\"g\",\"labels\":{\"k\":\"a\"}},\"spec\":{"
    "\"taints\":[{\"key\":\"k\",\"value\":\"a\",\"effect\":\"NoExecute\"}]},"
    "\"status\":{" ROOM MACHINE "}}",
    ("{\"metadata\":{\"name\":\"h\"},\"status\":{\"allocatable\":{\"pods\":"
     "\"9\"}}}"),
};

static const char *const bound_texts[] = {
    "{\"metadata\":{\"name\":\"q0\",\"namespace\":\"d\",\"labels\":{\"k\":"
    "\"a\"}},\"spec\":{\"nodeName\":\"a\",\"containers\":[{\"name\":\"c\","
    "\"ports\":[{\"containerPort\":80,\"hostPort\":80}],\"resources\":{"
    "\"requests\":{\"cpu\":\"5\",\"memory\":\"3Gi\"}}}]}}",
    "{\"metadata\":{\"name\":\"q1\",\"namespace\":\"d\",\"labels\":{\"k\":"
    "\"b\"}},\"spec\":{\"nodeName\":\"b\",\"placement\":{\"cpuPolicy\":"
    "\"exclusive\"},\"containers\":[{\"name\":\"c\",\"ports\":[{"
    "\"containerPort\":80,\"hostPort\":80,\"hostIP\":\"10.0.0.1\"}],"
    "\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\","
    "\"kiln.hpc/gpu\":\"1\"}}}]},\"status\":{\"allocation\":{\"cpus\":"
    "\"0,4\",\"memoryNodes\":\"0\"}}}",
    "{\"metadata\":{\"name\":\"q2\",\"namespace\":\"e\"},\"spec\":{"
    "\"nodeName\":\"d\",\"placement\":{\"partition\":\"a\"},\"priority\":5,\"containers\":[{\"name\":\"c\","
    "\"ports\":[{\"containerPort\":80,\"hostPort\":80,\"protocol\":\"UDP\"}],"
    "\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}}",
    "{\"metadata\":{\"name\":\"q3\",\"namespace\":\"d\"},\"spec\":{"
    "\"nodeName\":\"b\",\"volumes\":[{\"name\":\"v\","
    "\"persistentVolumeClaim\":{\"claimName\":\"a\"}}],\"containers\":[{"
    "\"name\":\"c\"}]}}",
};

/* The claim is bound to a volume of one zone, and only one pod may use it. */
static const char claim_text[] =
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"annotations\":{"
    "\"pv.kubernetes.io/bind-completed\":\"yes\"}},\"spec\":{\"accessModes\":"
    "[\"ReadWriteOncePod\"],\"volumeName\":\"a\",\"resources\":{\"requests\":"
    "{\"storage\":\"1Gi\"}}},\"status\":{\"phase\":\"Bound\"}}";
static const char volume_text[] =
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"topology.kubernetes.io/zone\":"
    "\"a\"}},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":["
    "\"ReadWriteOncePod\"]},\"status\":{\"phase\":\"Bound\"}}";

/* --- the changed pod ------------------------------------------------------ */

static const char *const pod_texts[] = {
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},"
    "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\","
    "\"labels\":{\"k\":\"a\"},\"annotations\":{\"k\":\"a\"}},\"spec\":{"
    "\"priority\":3,\"nodeSelector\":{\"k\":\"a\"},\"overhead\":{\"cpu\":"
    "\"250m\"},\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":"
    "\"best-effort\"},\"tolerations\":[{\"key\":\"k\",\"operator\":\"Equal\","
    "\"value\":\"a\",\"effect\":\"NoSchedule\"}],\"affinity\":{"
    "\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
    "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\","
    "\"operator\":\"In\",\"values\":[\"a\",\"b\"]}]},{\"matchFields\":[{"
    "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"b\"]}]}]},"
    "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":5,"
    "\"preference\":{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"Gt\","
    "\"values\":[\"5\"]}]}}]},\"podAffinity\":{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
    "\"k\",\"labelSelector\":{\"matchLabels\":{\"k\":\"a\"}}}]},"
    "\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":"
    "[{\"weight\":5,\"podAffinityTerm\":{\"topologyKey\":\"n\","
    "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"k\",\"operator\":"
    "\"Exists\"}]}}}]}},\"topologySpreadConstraints\":[{\"maxSkew\":1,"
    "\"topologyKey\":\"k\",\"whenUnsatisfiable\":\"DoNotSchedule\","
    "\"labelSelector\":{\"matchLabels\":{\"k\":\"a\"}}}],\"volumes\":[{"
    "\"name\":\"v\",\"emptyDir\":{}}],\"initContainers\":[{\"name\":\"i\","
    "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],"
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{"
    "\"containerPort\":80,\"hostPort\":80}],\"resources\":{\"requests\":{"
    "\"cpu\":\"2\",\"memory\":\"1Gi\",\"kiln.hpc/gpu\":\"1\"},\"limits\":{"
    "\"kiln.hpc/gpu\":\"1\"}}}]}}",
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},"
    "\"spec\":{\"activeDeadlineSeconds\":50,\"placement\":{\"cpuPolicy\":\"exclusive\",\"partition\":\"a\"},\"tolerations\":[{"
    "\"key\":\"k\",\"operator\":\"Exists\"}],\"affinity\":{"
    "\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
    "\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
    "\"operator\":\"In\",\"values\":[\"b\"]}]}]}}},\"containers\":[{\"name\":"
    "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"4\","
    "\"memory\":\"6Gi\",\"hugepages-2Mi\":\"6Mi\"},\"limits\":{"
    "\"hugepages-2Mi\":\"6Mi\"}}}]}}",
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},"
    "\"spec\":{\"activeDeadlineSeconds\":50,\"placement\":{\"cpuPolicy\":\"exclusive\",\"partition\":\"a,b\",\"numaPolicy\":"
    "\"single-numa-node\"},\"affinity\":{\"nodeAffinity\":{"
    "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":5,"
    "\"preference\":{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"Gt\","
    "\"values\":[\"5\"]}]}},{\"weight\":1,\"preference\":{"
    "\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}}]}},"
    "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":"
    "\"a\"}}],\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
    "\"requests\":{\"cpu\":\"3\",\"memory\":\"5Gi\",\"kiln.hpc/gpu\":\"2\"},"
    "\"limits\":{\"kiln.hpc/gpu\":\"2\"}}}]}}",
};

/* Words that some node, taint, image or pod of the cluster contains. */
static const char *const words[] = {
    "",
    "a",
    "b",
    "k",
    "n",
    "2",
    "7",
    "d",
    "e",
    "10.0.0.1",
    "UDP",
    "Exists",
    "NotIn",
    "DoesNotExist",
    "Lt",
    "NoExecute",
    "PreferNoSchedule",
    "node.kubernetes.io/unschedulable",
    "Always",
    "a,b",
    "b,k",
};
static const char *const amounts[] = {"0", "100m", "250m", "1",     "2",  "3",
                                      "6", "2Mi",  "8Mi",  "200Mi", "3Gi"};
static const int64_t numbers[] = {0, 1, 2, 5, 80, 100};
static const char *const keys[] = {
    "k", "n", "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "kiln.hpc/gpu",
};

/* --- a plugin's answers --------------------------------------------------- */

static void
add_filter(struct trial *t, const struct subject *s, struct cycle *c, struct strbuf *out)
{
    const struct node_view *feasible[MAX_NODES];
    unsigned n = 0;

    for (uint32_t i = 0; i < t->snapshot.n_nodes; i++) {
        const struct node_view *node = t->snapshot.nodes[i];
        struct answer answer;

        profile_filter(s->profile, PLUGIN_BIT(0), c, &node, 1, &answer);
        strbuf_printf(out, " %s:%d/%u", node->name, answer.verdict, answer.reason);
        if (answer.verdict == VERDICT_OK)
            feasible[n++] = node;
    }
    if ((s->profile->scores & PLUGIN_BIT(0)) == 0 || n == 0)
        return;
    profile_prescore(s->profile, PLUGIN_BIT(0), c, feasible, n);
    for (unsigned i = 0; i < n && (c->skipped_scores & PLUGIN_BIT(0)) == 0; i++) {
        int64_t score;

        profile_score(s->profile, 0, c, &feasible[i], 1, &score);
        strbuf_printf(out, " %s=%" PRId64, feasible[i]->name, score);
    }
}

/* False: prefilter has refused the pod, and filter is not called. */
static bool
add_answers(struct trial *t, const struct subject *s, struct pod_view *pod,
            struct strbuf *prefilter, struct strbuf *out)
{
    struct prefilter_result result = {0};
    plugin_set narrowers = 0;
    struct answer answer;
    struct cycle c;

    cycle_init(&c, pod, &t->snapshot);
    answer = profile_prefilter(s->profile, &c, &result, &narrowers);
    strbuf_printf(prefilter, "prefilter %d/%u", answer.verdict, answer.reason);
    for (unsigned i = 0; result.has_names && i < result.count; i++)
        strbuf_printf(prefilter, " %s", result.names[i]);
    free(result.names);
    if (answer.verdict == VERDICT_OK)
        add_filter(t, s, &c, out);
    cycle_fini(&c);
    return answer.verdict == VERDICT_OK;
}

static void
add_hint(const struct subject *s, const struct wake *wake, const struct pod_view *pod,
         const struct object *old_object, const struct object *new_object, struct strbuf *out)
{
    strbuf_printf(out, " %d", wake->hint(s->profile->entries[0].self, pod, old_object, new_object));
}

/* Calls hints for added, changed and deleted objects of the cluster. An update
 * of the pod itself is not among them, because only that pod's hint is called
 * for it.
 */
static void
add_hints(struct trial *t, const struct subject *s, const struct pod_view *pod, struct strbuf *out)
{
    const struct plugin *plugin = s->profile->entries[0].plugin;

    for (unsigned w = 0; w < plugin->n_wakes; w++) {
        const struct wake *wake = &plugin->wakes[w];

        if (wake->hint == NULL)
            continue;
        for (unsigned i = 0; wake->resource == EVENT_NODE && i < t->n_nodes; i++) {
            add_hint(s, wake, pod, NULL, t->nodes[i], out);
            add_hint(s, wake, pod, t->nodes[i], t->nodes[(i + 1) % t->n_nodes], out);
        }
        for (unsigned i = 0; i < ARRAY_SIZE(partition_texts); i++)
            if (wake->resource == EVENT_PARTITION)
                add_hint(s, wake, pod, t->partitions[i], t->partitions[i], out);
        for (unsigned i = 0; i < ARRAY_SIZE(reservation_texts); i++)
            if (wake->resource == EVENT_NODE_RESERVATION)
                add_hint(s, wake, pod, NULL, t->reservations[i], out);
        for (unsigned i = 0; i < t->n_bound; i++) {
            const struct object *other = t->bound[i]->object;

            if (wake->resource == EVENT_POD && (wake->actions & ACTION_DELETE))
                add_hint(s, wake, pod, other, NULL, out);
            if (wake->resource == EVENT_POD && (wake->actions & ACTION_ADD))
                add_hint(s, wake, pod, NULL, other, out);
        }
    }
}

/* Checks whether that signature had the same answers before, if it occurred. */
static void
compare(struct trial *t, const struct subject *s, struct map *seen, const char *what,
        const char *signature, const char *answers)
{
    const char *before = map_find(seen, signature);
    const char *said = before != NULL ? strchr(before, '\n') + 1 : NULL;

    if (before == NULL) {
        map_put(seen, signature, xasprintf("%s\n%s", t->path, answers));
    } else if (strcmp(said, answers) != 0) {
        t->n_faults++;
        if (t->faults.length < 2000)
            strbuf_printf(&t->faults, "\n%s: %s of %s are shared with %.*s\n  %.300s\n  %.300s",
                          s->profile->entries[0].plugin->name, what, t->path,
                          (int)(said - before - 1), before, answers, said);
    }
}

/* Results of nodes are kept by `sign`; unschedulable pods of one group share
 * the results of prefilter, too.
 */
static void
ask_about_nodes(struct trial *t, struct subject *s, struct pod_view *pod, struct strbuf *signature)
{
    CLEANUP_STRBUF struct strbuf prefilter = STRBUF_INIT, answers = STRBUF_INIT;
    uint32_t asleep, admission;

    strbuf_add_char(signature, '.');
    s->n_shared += map_find(s->answers, signature->text) != NULL;
    if (add_answers(t, s, pod, &prefilter, &answers)) {
        strbuf_add_char(&answers, '.');
        compare(t, s, s->answers, "answers", signature->text, answers.text);
    }
    pod->has_signature = false; /* of another profile */
    asleep = profile_sign_timed(s->profile, pod, profile_sign(s->profile, pod, t->signatures), 0,
                                t->signatures, &admission);
    strbuf_truncate(signature, 0);
    strbuf_add_int(signature, asleep);
    compare(t, s, s->prefilters, "answers of prefilter", signature->text, prefilter.text);
}

static void
ask(struct trial *t, struct subject *s, struct pod_view *pod)
{
    const struct profile_entry *e = &s->profile->entries[0];
    CLEANUP_STRBUF struct strbuf signature = STRBUF_INIT, answers = STRBUF_INIT;
    uint32_t hints = profile_sign_hints(s->profile, pod, PLUGIN_BIT(0), t->signatures);

    if (!e->plugin->depends_on_others
        && (e->plugin->sign == NULL || e->plugin->sign(e->self, pod, &signature)))
        ask_about_nodes(t, s, pod, &signature);
    if (hints != SIGNATURE_NONE) {
        strbuf_truncate(&signature, 0);
        strbuf_printf(&signature, "%u", hints);
        add_hints(t, s, pod, &answers);
        strbuf_add_char(&answers, '.');
        compare(t, s, s->hints, "hints", signature.text, answers.text);
    }
}

/* --- the walk ------------------------------------------------------------- */

/* As if a partition were for one user at a time, and some pods were in it. */
static void
tell_owners(struct pod_view *pod)
{
    const char *names = pod_spec_partition(&pod->pod->spec);

    pod->heeds_owners = true;
    pod->keeps_users_off = names != NULL && strcmp(names, "a") == 0;
}

/* Tests the changed tree, if the API would accept it. */
static void
try(struct trial *t)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = json_dup(arena, t->pod);
    CLEANUP(object_unrefp) const struct object *object = NULL;
    CLEANUP(pod_view_unrefp) struct pod_view *pod = NULL;
    struct causes causes;
    struct error err = {0};

    if (record_normalize(pod_kind.record, arena, tree, NULL, &err) < 0)
        return;
    pod_kind.set_defaults(arena, tree);
    if (record_normalize(pod_kind.record, arena, tree, NULL, &err) < 0)
        return;
    causes_init(&causes, arena);
    pod_kind.validate(&causes, tree, NULL);
    if (causes.count > 0)
        return;
    json_set_string(arena, json_get(tree, "metadata"), "resourceVersion", "1");
    object = object_new(&pod_kind, tree);
    pod = pod_view_new(object, t->handle.resources);
    tell_owners(pod);
    t->n_taken++;
    for (unsigned i = 0; i < t->n_subjects; i++)
        ask(t, &t->subjects[i], pod);
}

static void
try_value(struct trial *t, struct json *object, const char *name, struct json *value)
{
    struct json *before = json_get(object, name);

    if (value != NULL)
        json_set(t->arena, object, name, value);
    else
        json_remove(object, name);
    try(t);
    if (before != NULL)
        json_set(t->arena, object, name, before);
    else
        json_remove(object, name);
}

static void change_fields(struct trial *t, const struct record *record, struct json *object,
                          unsigned depth);

static void
change_text(struct trial *t, const struct field *f, struct json *object)
{
    for (unsigned i = 0; f->values != NULL && f->values[i] != NULL; i++)
        try_value(t, object, f->name, json_string(t->arena, f->values[i]));
    for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
        try_value(t, object, f->name, json_string(t->arena, words[i]));
}

static void
change_amount(struct trial *t, struct json *object, const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(amounts); i++)
        try_value(t, object, name, json_string(t->arena, amounts[i]));
}

static void
change_number(struct trial *t, struct json *object, const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++)
        try_value(t, object, name, json_int(t->arena, numbers[i]));
}

static void
change_map(struct trial *t, const struct field *f, struct json *object)
{
    struct json *before = json_get(object, f->name);
    struct json *map = json_make_object(t->arena, object, f->name);

    for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
        if (f->element == FIELD_QUANTITY)
            change_amount(t, map, keys[i]);
        else if (f->element == FIELD_STRING)
            for (unsigned v = 0; v < 4; v++)
                try_value(t, map, keys[i], json_string(t->arena, words[v]));
        try_value(t, map, keys[i], NULL);
    }
    if (before == NULL)
        json_remove(object, f->name);
}

/* Changes each item, removes one, and repeats the last. */
static void
change_list(struct trial *t, const struct field *f, struct json *object, unsigned depth)
{
    struct json *before = json_get(object, f->name);
    struct json *list = before != NULL ? before : json_array(t->arena);
    struct json *item;

    if (before == NULL)
        json_set(t->arena, object, f->name, list);
    for (uint32_t i = 0; f->element == FIELD_OBJECT && i < json_count(list); i++)
        change_fields(t, f->of, json_at(list, i), depth);
    for (unsigned i = 0; f->element == FIELD_STRING && i < ARRAY_SIZE(words); i++) {
        json_append(t->arena, list, json_string(t->arena, words[i]));
        try(t);
        json_keep_first(list, json_count(list) - 1);
    }
    if (f->element == FIELD_OBJECT) {
        item = json_count(list) > 0 ? json_dup(t->arena, json_at(list, json_count(list) - 1))
                                    : json_object(t->arena);
        json_append(t->arena, list, item);
        try(t);
        change_fields(t, f->of, item, depth);
        json_keep_first(list, json_count(list) - 1);
    }
    if (before == NULL)
        json_remove(object, f->name);
}

static void
change_object(struct trial *t, const struct field *f, struct json *object, unsigned depth)
{
    struct json *before = json_get(object, f->name);

    change_fields(t, f->of, json_make_object(t->arena, object, f->name), depth);
    if (before == NULL)
        json_remove(object, f->name);
}

static void
change_field(struct trial *t, const struct field *f, struct json *object, unsigned depth)
{
    switch (f->type) {
    case FIELD_BOOL:
        try_value(t, object, f->name, json_bool(t->arena, true));
        try_value(t, object, f->name, json_bool(t->arena, false));
        break;
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_NUMBER:
        change_number(t, object, f->name);
        break;
    case FIELD_QUANTITY:
        change_amount(t, object, f->name);
        break;
    case FIELD_INT_OR_STRING:
        change_number(t, object, f->name);
        change_text(t, f, object);
        break;
    case FIELD_OBJECT:
        change_object(t, f, object, depth);
        break;
    case FIELD_LIST:
        change_list(t, f, object, depth);
        break;
    case FIELD_MAP:
        change_map(t, f, object);
        break;
    default:
        change_text(t, f, object);
    }
    if (json_get(object, f->name) != NULL)
        try_value(t, object, f->name, NULL);
}

static void
change_fields(struct trial *t, const struct record *record, struct json *object, unsigned depth)
{
    size_t length = strlen(t->path);

    for (unsigned i = 0; i < record->n_fields && depth < MAX_DEPTH; i++) {
        snprintf(t->path + length, sizeof(t->path) - length, ".%s", record->fields[i].name);
        change_field(t, &record->fields[i], object, depth + 1);
        t->path[length] = '\0';
    }
}

/* Status is omitted: it only reflects the scheduler's progress. */
static void
change_pod(struct trial *t, const char *text)
{
    t->pod = json_parse(t->arena, text, strlen(text), NULL, NULL);
    ck_assert_ptr_nonnull(t->pod);
    snprintf(t->path, sizeof(t->path), "the pod as it was");
    try(t);
    for (unsigned i = 0; i < pod_kind.record->n_fields; i++) {
        const struct field *f = &pod_kind.record->fields[i];

        if (strcmp(f->name, "metadata") != 0 && strcmp(f->name, "spec") != 0)
            continue;
        snprintf(t->path, sizeof(t->path), "%s", f->name);
        change_fields(t, f->of, json_get(t->pod, f->name), 0);
    }
}

/* --- life ----------------------------------------------------------------- */

static const struct object *
find_partition(void *owner, const char *kind, const char *key)
{
    struct trial *t = owner;

    for (unsigned i = 0; i < ARRAY_SIZE(partition_texts); i++)
        if (strcmp(kind, partition_kind.name) == 0
            && strcmp(t->partitions[i]->meta->name, key) == 0)
            return t->partitions[i];
    return NULL;
}

static struct node_view *
find_node(void *context, const char *name)
{
    const struct trial *t = context;

    return cache_find_node(t->cache, name);
}

static void
visit_nothing(void *owner, const char *kind, const char *namespace, handle_visit_fn *visit,
              void *context)
{
    (void)owner, (void)kind, (void)namespace, (void)visit, (void)context;
}

/* Adds a plugin alone in a profile. */
static void
add_subject(struct trial *t, const struct plugin *plugin, const char *args)
{
    struct subject *s = &t->subjects[t->n_subjects++];
    struct error err = {0};
    const struct profile_plugin one = {
        .plugin = plugin,
        .args = args != NULL ? json_parse(t->arena, args, strlen(args), NULL, NULL) : NULL,
    };
    int r = profile_new(
        &(struct profile_settings){
            .scheduler_name = "x",
            .plugins = &one,
            .n_plugins = 1,
            .percentage_of_nodes = 100,
            .handle = &t->handle,
        },
        &s->profile, &err);

    ck_assert_msg(r == 0, "%s: %s", plugin->name, err.text);
    s->answers = map_new();
    s->prefilters = map_new();
    s->hints = map_new();
}

static void
put_node(struct trial *t, const char *text)
{
    t->nodes[t->n_nodes] = fake_client_put(t->api, &node_kind, text);
    cache_set_node(t->cache, t->nodes[t->n_nodes++]);
}

static void
put_machine(struct trial *t, unsigned number)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT, topology = STRBUF_INIT;
    struct random_source dice = {number};
    struct odd_machine m = odd_machine(&dice, &topology);

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"m%u\"},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"%uGi\","
                  "\"pods\":\"9\",\"hugepages-2Mi\":\"1Gi\","
                  "\"kiln.hpc/gpu\":\"%u\"},\"topology\":%s}}",
                  number, m.n_pus, m.memory_gib, m.n_devices, topology.text);
    put_node(t, s.text);
}

static void
put_storage(struct trial *t, const struct kind *kind, const char *text)
{
    (void)volume_book_set(t->handle.volumes, NULL, fake_client_put(t->api, kind, text));
}

static void
trial_init(struct trial *t)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *t = (struct trial){
        .time = clock,
        .random = {1},
        .faults = STRBUF_INIT,
    };
    t->api = fake_client_new();
    t->arena = arena_new(0);
    t->signatures = string_ids_new();
    t->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &t->time.clock,
        .random = &t->random,
        .nominator = nominator_new(),
        .volumes = volume_book_new(),
        .node_reservations = node_reservations_new(find_node, t),
        .owner = t,
        .find = find_partition,
        .visit = visit_nothing,
    };
    t->cache = cache_new(&(struct cache_settings){
        .clock = &t->time.clock,
        .resources = t->handle.resources,
    });
    for (unsigned i = 0; i < ARRAY_SIZE(node_texts); i++)
        put_node(t, node_texts[i]);
    for (unsigned i = 0; i < MACHINES; i++)
        put_machine(t, i);
    for (unsigned i = 0; i < ARRAY_SIZE(partition_texts); i++)
        t->partitions[i] = fake_client_put(t->api, &partition_kind, partition_texts[i]);
    for (unsigned i = 0; i < ARRAY_SIZE(reservation_texts); i++) {
        t->reservations[i] = fake_client_put(t->api, &reservation_kind, reservation_texts[i]);
        node_reservations_set(t->handle.node_reservations, t->reservations[i]);
    }
    put_storage(t, &persistent_volume_claim_kind, claim_text);
    put_storage(t, &persistent_volume_kind, volume_text);
    for (unsigned i = 0; i < ARRAY_SIZE(bound_texts); i++) {
        t->bound[i] =
            pod_view_new(fake_client_put(t->api, &pod_kind, bound_texts[i]), t->handle.resources);
        tell_owners(t->bound[i]);
        cache_set_pod(t->cache, t->bound[i], t->bound[i]->pod->spec.node_name);
        t->n_bound++;
    }
    cache_update_snapshot(t->cache, &t->snapshot);
}

static void
free_texts(struct map *map)
{
    const char *key;
    void *value;

    for (size_t at = 0; map_next(map, &at, &key, &value);)
        free(value);
    map_free(map);
}

static void
trial_fini(struct trial *t)
{
    for (unsigned i = 0; i < t->n_subjects; i++) {
        profile_free(t->subjects[i].profile);
        free_texts(t->subjects[i].answers);
        free_texts(t->subjects[i].prefilters);
        free_texts(t->subjects[i].hints);
    }
    for (unsigned i = 0; i < t->n_bound; i++)
        pod_view_unref(t->bound[i]);
    node_reservations_free(t->handle.node_reservations);
    cache_free(t->cache);
    volume_book_free(t->handle.volumes);
    nominator_free(t->handle.nominator);
    string_ids_free(t->handle.resources);
    string_ids_free(t->handle.reasons);
    string_ids_free(t->signatures);
    fake_client_free(t->api);
    arena_free(t->arena);
    strbuf_fini(&t->faults);
}

START_TEST(pods_that_are_signed_alike_get_the_same_answers)
{
    struct trial t;
    unsigned n_pods = IS_SANITIZED ? 1 : ARRAY_SIZE(pod_texts);

    trial_init(&t);
    for (unsigned i = 0; i < plugin_count; i++)
        add_subject(&t, plugin_list[i], NULL);
    for (unsigned i = 0; i < n_pods; i++)
        change_pod(&t, pod_texts[i]);
    ck_assert_msg(t.n_faults == 0, "%u: %s", t.n_faults, t.faults.text);
    if (!IS_SANITIZED)
        ck_assert_uint_gt(t.n_taken, 5000);
    for (unsigned i = 0; !IS_SANITIZED && i < t.n_subjects; i++) {
        const struct profile_entry *e = &t.subjects[i].profile->entries[0];

        ck_assert_msg(e->plugin->depends_on_others || t.subjects[i].n_shared > 1000,
                      "%s shares nothing", e->plugin->name);
    }
    trial_fini(&t);
}
END_TEST

SUITE("signatures", pods_that_are_signed_alike_get_the_same_answers)
