/* SPDX-License-Identifier: Apache-2.0 */
/* admission_partition_defaults.c - what a new job gets from its partition
 * without asking: the partition itself, a time limit, memory, a whole node
 *
 * Only a creation gets these; the annotation kiln.hpc/defaulted lists them. An
 * update that leaves them out keeps them, so that a manifest can be replaced
 * and applied again; one that names other partitions gets or loses the whole
 * node. Jobs that were stored before there were partitions get
 * nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define TIME_FIELD "activeDeadlineSeconds"

/* A job that is admitted, and the values that it was given. */
struct giving {
    struct request *q;
    struct json *tree;
    struct json *spec; /* of its pods */
    struct strbuf given;
};

static void
note(struct giving *g, const char *what)
{
    strbuf_printf(&g->given, "%s%s", g->given.length > 0 ? "," : "", what);
}

static void
set_annotation(struct giving *g, const char *value)
{
    struct json *meta = json_make_object(g->q->arena, g->tree, "metadata");
    const char *is = json_get_text(json_get(meta, "annotations"), ANNOTATION_DEFAULTED);

    if (value[0] == '\0' && is != NULL)
        json_remove(json_get(meta, "annotations"), ANNOTATION_DEFAULTED);
    else if (value[0] != '\0' && (is == NULL || strcmp(is, value) != 0))
        json_set_string(g->q->arena, json_make_object(g->q->arena, meta, "annotations"),
                        ANNOTATION_DEFAULTED, value);
}

static const struct partition *
find_partition(const struct giving *g, const char *name)
{
    const struct object *object =
        store_find(g->q->server->store, STORE_PENDING, &partition_kind, NULL, name);

    return object != NULL ? partition_of(object) : NULL;
}

/* ---- The partition ---- */

static bool
take_first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

static const char *
default_name(const struct giving *g)
{
    const struct object *object = NULL;

    store_visit_index(g->q->server->store, &partition_kind, PARTITION_BY_DEFAULT, STORE_PENDING,
                      "default", take_first, &object);
    return object != NULL ? object->meta->name : NULL;
}

static bool
has_partitions(const struct giving *g)
{
    const struct object *object = NULL;

    store_list(g->q->server->store, &partition_kind, NULL, NULL, 0, take_first, &object);
    return object != NULL;
}

/* The values of "kiln.hpc/partition In (a, b)", as "a,b", when all of them are
 * partitions; or NULL.
 */
static const char *
names_of_term(const struct giving *g, const struct json *term)
{
    const struct json *wishes = json_get(term, "matchExpressions");
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(wishes); i++) {
        const struct json *wish = json_at(wishes, i);
        const struct json *values = json_get(wish, "values");
        const char *key = json_get_text(wish, "key");
        const char *operator_ = json_get_text(wish, "operator");

        if (key == NULL || operator_ == NULL || strcmp(operator_, "In") != 0
            || strcmp(key, LABEL_PARTITION) != 0)
            continue;
        for (uint32_t v = 0; v < json_count(values); v++) {
            const char *name = json_text(json_at(values, v));

            if (name == NULL || find_partition(g, name) == NULL)
                return NULL;
            strbuf_printf(&names, "%s%s", v > 0 ? "," : "", name);
        }
        return arena_strdup(g->q->arena, names.text);
    }
    return NULL;
}

/* ksub -p of earlier releases writes the label of the nodes. */
static const char *
name_by_label(const struct giving *g)
{
    const char *name = json_get_text(json_get(g->spec, "nodeSelector"), LABEL_PARTITION);
    const struct json *terms = json_get_path(
        g->spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                 "nodeSelectorTerms");

    if (name != NULL)
        return find_partition(g, name) != NULL ? name : NULL;
    return json_count(terms) > 0 ? names_of_term(g, json_at(terms, 0)) : NULL;
}

static const char *
named_partition(const struct giving *g)
{
    const char *name = json_get_text(json_get(g->spec, "placement"), "partition");

    return name != NULL ? name : "";
}

static void
set_partition(struct giving *g, const char *name)
{
    json_set_string(g->q->arena, json_make_object(g->q->arena, g->spec, "placement"), "partition",
                    name);
    note(g, "partition");
}

/* Returns false when the job is refused. */
static bool
give_partition(struct giving *g)
{
    const char *name;

    if (named_partition(g)[0] != '\0')
        return true;
    name = name_by_label(g);
    if (name == NULL)
        name = default_name(g);
    if (name != NULL) {
        set_partition(g, name);
        return true;
    }
    return !has_partitions(g)
           || admission_refuse(g->q, g->tree, "PartitionDefaults",
                               "there is no default partition; name one "
                               "(-p); 'kctl partitions' lists them");
}

/* ---- The partitions' defaults ---- */

/* The least of all its partitions' values: a job must fit into each of them. It
 * has a whole node wherever it starts if all are exclusive; otherwise the
 * scheduler decides by the partition in which it starts.
 */
struct terms {
    int64_t time_s;         /* 0: no limit */
    int64_t memory_per_cpu; /* 0: no default */
    int64_t memory;         /* maximum of all its pods; 0: none */
    bool is_exclusive;
};

static int64_t
least(int64_t a, int64_t b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

static struct terms
read_terms(const struct giving *g)
{
    struct terms t = {.is_exclusive = named_partition(g)[0] != '\0'};
    size_t n;

    for (const char *at = named_partition(g); (n = partition_next_name(&at)) > 0; at += n) {
        const struct partition *p = find_partition(g, arena_strndup(g->q->arena, at, n));

        if (p == NULL)
            continue; /* the rule Partition refuses it */
        t.time_s = least(partition_time_s(p->spec.default_time), t.time_s);
        t.time_s = least(partition_time_s(p->spec.maximum_time), t.time_s);
        t.memory_per_cpu =
            least(quantity_text_value(p->spec.default_memory_per_cpu), t.memory_per_cpu);
        t.memory = least(quantity_text_value(p->spec.maximum_memory), t.memory);
        t.is_exclusive &= partition_is_of_one_pod(p);
    }
    return t;
}

static bool
asks_for_no_limit(const struct giving *g)
{
    const char *text =
        json_get_text(json_get_path(g->tree, "metadata.annotations"), ANNOTATION_TIME_LIMIT);

    return text != NULL && strcmp(text, TIME_LIMIT_NONE) == 0;
}

/* Whether the warning signal can come before the limit that is given to the
 * job. Its user has chosen the seconds without knowing the limit.
 */
static bool
is_warned_in_time(struct giving *g, int64_t limit_s)
{
    const struct json *signal = json_get_path(g->spec, "execution.signal");
    int64_t before_s = json_get_int(signal, "secondsBefore", 0);

    if (signal == NULL || before_s < limit_s)
        return true;
    return admission_refuse(
        g->q, g->tree, "PartitionDefaults",
        arena_printf(g->q->arena,
                     "its warning signal is to be sent %" PRId64
                     " s before its time limit, but partition %s sets a limit of %" PRId64
                     " s; ask for a longer limit (-t), or a later signal",
                     before_s, named_partition(g), limit_s));
}

/* Returns false when the job is refused. */
static bool
give_time(struct giving *g, int64_t time_s)
{
    int64_t most_s = g->q->server->policy->limits.maximum_time_us / INT64_C(1000000);

    if (time_s == 0 || json_get(g->spec, TIME_FIELD) != NULL || asks_for_no_limit(g))
        return true;
    if (!is_warned_in_time(g, least(most_s, time_s)))
        return false;
    json_set_int(g->q->arena, g->spec, TIME_FIELD, least(most_s, time_s));
    note(g, "time");
    return true;
}

static void
set_memory(struct giving *g, struct json *container, int64_t bytes)
{
    struct json *resources = json_make_object(g->q->arena, container, "resources");
    static const char *const maps[] = {"requests", "limits"};

    for (unsigned i = 0; i < ARRAY_SIZE(maps); i++)
        json_set(g->q->arena, json_make_object(g->q->arena, resources, maps[i]), "memory",
                 json_stringf(g->q->arena, "%" PRId64, bytes));
    note(g, "memory");
}

/* Only the first container runs as a process. */
static void
give_memory(struct giving *g, const struct terms *t)
{
    struct json *containers = json_get(g->spec, "containers");
    struct json *main = json_is(containers, JSON_ARRAY) ? json_at(containers, 0) : NULL;
    const struct json *resources = json_get(main, "resources");
    const struct json *requests = json_get(resources, "requests");
    const struct json *limits = json_get(resources, "limits");
    int64_t milli, bytes;

    if (main == NULL || (t->memory_per_cpu == 0 && t->memory == 0)
        || json_get(requests, "memory") != NULL || json_get(limits, "memory") != NULL)
        return;
    milli = quantity_text_milli(json_get_text(requests, "cpu"));
    bytes = (milli > 1000 ? (milli + 999) / 1000 : 1) * t->memory_per_cpu;
    set_memory(g, main, least(bytes, t->memory));
}

static void
give_node(struct giving *g)
{
    struct json *placement = json_make_object(g->q->arena, g->spec, "placement");

    if (json_is_true(json_get(placement, "wholeNode")))
        return;
    json_set_bool(g->q->arena, placement, "wholeNode", true);
    note(g, "exclusive");
}

/* ---- An update ---- */

static bool
has_word(const char *list, const char *word)
{
    size_t n;

    for (const char *at = list; (n = partition_next_name(&at)) > 0; at += n)
        if (strlen(word) == n && strncmp(at, word, n) == 0)
            return true;
    return false;
}

/* Copies a member that the new object lacks, and creates the objects `around`
 * it. If the value has not changed, it still counts as given.
 */
static void
keep(struct giving *g, const struct json *old_spec, const char *const *around, const char *name,
     const char *word)
{
    struct json *into = g->spec;
    const struct json *was = old_spec;
    const struct json *now = g->spec;

    for (unsigned i = 0; around[i] != NULL; i++) {
        was = json_get(was, around[i]);
        now = json_get(now, around[i]);
    }
    was = json_get(was, name);
    now = json_get(now, name);
    if (was == NULL)
        return;
    if (now == NULL) {
        for (unsigned i = 0; around[i] != NULL; i++)
            into = json_make_object(g->q->arena, into, around[i]);
        json_set(g->q->arena, into, name, json_dup(g->q->arena, was));
    } else if (!json_equals(now, was))
        return;
    if (!has_word(g->given.text, word))
        note(g, word);
}

static void
keep_memory(struct giving *g, const struct json *old_spec)
{
    const struct json *was = json_at(json_get(old_spec, "containers"), 0);
    struct json *containers = json_get(g->spec, "containers");
    struct json *main = json_is(containers, JSON_ARRAY) ? json_at(containers, 0) : NULL;
    struct giving inner = *g;

    if (main == NULL || was == NULL)
        return;
    inner.spec = main;
    keep(&inner, was, (const char *const[]){"resources", "requests", NULL}, "memory", "memory");
    keep(&inner, was, (const char *const[]){"resources", "limits", NULL}, "memory", "memory");
    g->given = inner.given;
}

static void
keep_given(struct giving *g, const struct object *old_object)
{
    static const char *const no_object[] = {NULL};
    static const char *const placement[] = {"placement", NULL};
    const char *given = string_map_find(&old_object->meta->annotations, ANNOTATION_DEFAULTED);
    const struct json *old_spec = admission_old_pod_spec(g->q, old_object);

    if (given == NULL)
        return;
    if (has_word(given, "partition"))
        keep(g, old_spec, placement, "partition", "partition");
    if (has_word(given, "time") && !asks_for_no_limit(g))
        keep(g, old_spec, no_object, TIME_FIELD, "time");
    if (has_word(given, "memory"))
        keep_memory(g, old_spec);
    if (has_word(given, "exclusive") && read_terms(g).is_exclusive)
        keep(g, old_spec, placement, "wholeNode", "exclusive");
    else if (has_word(given, "exclusive") && json_get(g->spec, "placement") != NULL)
        json_remove(json_get(g->spec, "placement"), "wholeNode");
}

static const char *
old_partition(const struct giving *g, const struct object *old_object)
{
    const char *was =
        json_path_text(admission_old_pod_spec(g->q, old_object), "placement.partition");

    return was != NULL ? was : "";
}

/* Whether the update removes the partition: the job could then use every node.
 */
static bool
loses_partition(const struct giving *g, const struct object *old_object)
{
    return old_partition(g, old_object)[0] != '\0' && named_partition(g)[0] == '\0';
}

bool
partition_defaults_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct giving g = {
        .q = q,
        .tree = tree,
        .spec = admission_pod_spec(q, tree),
        .given = STRBUF_INIT,
    };
    bool goes_on = true;

    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE
        || g.spec == NULL)
        return true;
    if (old_object != NULL) {
        keep_given(&g, old_object);
        goes_on = !loses_partition(&g, old_object) || give_partition(&g);
        if (goes_on && strcmp(old_partition(&g, old_object), named_partition(&g)) != 0
            && read_terms(&g).is_exclusive)
            give_node(&g);
    } else if ((goes_on = give_partition(&g))) {
        struct terms terms = read_terms(&g);

        goes_on = give_time(&g, terms.time_s);
        give_memory(&g, &terms);
        if (terms.is_exclusive)
            give_node(&g);
    }
    if (goes_on)
        set_annotation(&g, g.given.text);
    strbuf_fini(&g.given);
    return goes_on;
}
