/* SPDX-License-Identifier: Apache-2.0 */
/* Partition - spec.placement.partition: a pod runs only on the partition's
 * nodes, only while it is up, and only within its limits
 *
 * Kiln's own. Limits are checked when a job is submitted, and here again for
 * jobs that were waiting when their partition changed. A pod that names no
 * partition, because it is older than all partitions, may use every node.
 *
 * Extension points:  prefilter, filter
 * Woken by:          its partition changing; a node joining, or its labels
 *                    changing
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"

#define NAME_MAX_LENGTH 64u

struct partition_self {
    struct handle *handle;
    uint32_t missing, closed, rights, time, limit, elsewhere;
};

/* The partitions that the cycle's pod may use now. */
struct partition_choice {
    unsigned count;
    const struct partition *items[];
};

static const char choice_key[] = "partition";

static int
partition_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct partition_self *self = xnew(struct partition_self);

    (void)args;
    (void)err;
    self->handle = handle;
    self->missing = handle_reason(handle, "partition does not exist");
    self->closed = handle_reason(handle, "partition starts no jobs");
    self->rights = handle_reason(handle, "partition is not for the pod's owner");
    self->time = handle_reason(handle, "pod is over its partition's time limit");
    self->limit = handle_reason(handle, "pod is over its partition's limit");
    self->elsewhere = handle_reason(handle, "node(s) are not of the pod's partition");
    *ret_self = self;
    return 0;
}

static const char *
names_of(const struct pod_view *pod)
{
    const struct placement *p = pod->pod->spec.placement;

    return p != NULL && p->partition != NULL ? p->partition : "";
}

static void
sign_limits(const struct pod_view *pod, struct strbuf *out)
{
    const int64_t *limit = pod->pod->spec.active_deadline_seconds;
    const int64_t numbers[] = {
        limit != NULL ? *limit : 0,
        pod->requests.cpu_milli,
        pod->requests.memory_bytes,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
        strbuf_add_char(out, ' ');
        strbuf_add_int(out, numbers[i]);
    }
}

/* Rights to a partition depend on the owner and on what it was admitted to. */
static void
sign_rights(const struct pod_view *pod, struct strbuf *out)
{
    const char *uids = string_map_find(&pod->pod->meta.annotations, ANNOTATION_PARTITION_UID);

    strbuf_add_char(out, ' ');
    strbuf_add_int(out, pod->owner);
    strbuf_printf(out, " %s %s", pod->namespace, uids != NULL ? uids : "");
}

static bool
has_no_right(const struct partition_self *me, const struct pod_view *pod, const char *name,
             struct strbuf *why)
{
    const struct handle *h = me->handle;

    return h->refuse != NULL && h->refuse(pod->pod, &partition_kind, name, why, h->refuse_context);
}

/* When the pod names several partitions, its time limit and amounts decide
 * which of them it may use.
 */
static bool
partition_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    strbuf_add_text(out, names_of(pod));
    if (strchr(names_of(pod), ',') != NULL) {
        sign_limits(pod, out);
        sign_rights(pod, out);
    }
    return true;
}

/* When the pod names one partition, its limits decide only in PreFilter whether
 * it may start.
 */
static bool
partition_sign_prefilter(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const struct partition_self *me = self;
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    if (names_of(pod)[0] == '\0' || strchr(names_of(pod), ',') != NULL)
        return true;
    sign_limits(pod, out);
    if (has_no_right(me, pod, names_of(pod), &why))
        sign_rights(pod, out);
    return true;
}

static const struct partition *
find_partition(const struct partition_self *me, const char *name, size_t length)
{
    char key[NAME_MAX_LENGTH];
    const struct object *object;

    if (me->handle->find == NULL || length >= sizeof(key))
        return NULL;
    memcpy(key, name, length);
    key[length] = '\0';
    object = me->handle->find(me->handle->owner, partition_kind.name, key);
    return object != NULL ? partition_of(object) : NULL;
}

/* ---- Whether the pod may start in a partition ---- */

static bool
is_over(int64_t asked, int64_t most)
{
    return most > 0 && asked > most;
}

/* A pod without a time limit is allowed: it is older than the partition's
 * limit, or an administrator's.
 */
static bool
check_time(struct cycle *c, const struct partition *p)
{
    const int64_t *asked_s = c->pod->pod->spec.active_deadline_seconds;
    int64_t most_s = partition_time_s(p->spec.maximum_time);
    CLEANUP_STRBUF struct strbuf limit = STRBUF_INIT;

    if (asked_s == NULL || !is_over(*asked_s, most_s))
        return true;
    duration_format(most_s, &limit);
    cycle_set_message(c, "over partition %s's limit of %s", p->meta.name, limit.text);
    return false;
}

static bool
check_amounts(struct cycle *c, const struct partition *p)
{
    struct pod_sums sums = {0};
    const char *limit = NULL, *what = "";

    if (p->spec.maximum_cpus == NULL && p->spec.maximum_memory == NULL)
        return true;
    pod_sums_add_requests(&sums, &c->pod->pod->spec, NULL);
    if (is_over(pod_sum_milli(pod_sums_find(&sums, "cpu")),
                quantity_text_milli(p->spec.maximum_cpus))) {
        limit = p->spec.maximum_cpus;
        what = " CPUs";
    } else if (is_over(pod_sum_value(pod_sums_find(&sums, "memory")),
                       quantity_text_value(p->spec.maximum_memory))) {
        limit = p->spec.maximum_memory;
        what = " of memory";
    }
    pod_sums_fini(&sums);
    if (limit != NULL)
        cycle_set_message(c, "over partition %s's limit of %s%s", p->meta.name, limit, what);
    return limit == NULL;
}

/* STRING_ID_NONE: the pod may use the partition. When several partitions refuse
 * it, the reason of the last one is reported.
 */
static uint32_t
refuse(const struct partition_self *me, struct cycle *c, const struct partition *p,
       const char *name, size_t length)
{
    CLEANUP_STRBUF struct strbuf state = STRBUF_INIT;

    if (p == NULL) {
        cycle_set_message(c, "no partition %.*s", (int)length, name);
        return me->missing;
    }
    if (!partition_starts_jobs(p)) {
        partition_format_state(p, &state);
        cycle_set_message(c, "partition %s %s", p->meta.name, state.text);
        return me->closed;
    }
    strbuf_truncate(&state, 0);
    if (has_no_right(me, c->pod, p->meta.name, &state)) {
        cycle_set_message(c, "not allowed: %s", state.text);
        return me->rights;
    }
    if (!check_time(c, p))
        return me->time;
    return check_amounts(c, p) ? STRING_ID_NONE : me->limit;
}

static enum verdict
partition_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                    uint32_t *ret_reason)
{
    const struct partition_self *me = self;
    const char *names = names_of(c->pod);
    struct partition_choice *choice;
    uint32_t reason = STRING_ID_NONE;
    bool is_everywhere = false;
    size_t n;

    (void)ret_result;
    if (names[0] == '\0')
        return VERDICT_SKIP;
    choice = xcalloc(1, sizeof(*choice) + strlen(names) * sizeof(struct partition *));
    for (const char *at = names; (n = partition_next_name(&at)) > 0; at += n) {
        const struct partition *p = find_partition(me, at, n);
        uint32_t refusal = refuse(me, c, p, at, n);

        if (refusal != STRING_ID_NONE) {
            reason = refusal;
            continue;
        }
        choice->items[choice->count++] = p;
        is_everywhere |= partition_has_all_nodes(p);
    }
    if (choice->count == 0 || is_everywhere) {
        *ret_reason = reason;
        reason = choice->count;
        free(choice);
        return reason == 0 ? VERDICT_NEVER : VERDICT_SKIP;
    }
    cycle_put(c, choice_key, choice, free, NULL);
    return VERDICT_OK;
}

static void
partition_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                 unsigned count, struct answer *answers)
{
    const struct partition_self *me = self;
    const struct partition_choice *choice = cycle_get(c, choice_key);

    for (unsigned i = 0; i < count; i++) {
        const struct string_map *labels = &nodes[i]->node->meta.labels;
        bool is_of_one = false;

        for (unsigned p = 0; p < choice->count && !is_of_one; p++)
            is_of_one = partition_has_node(choice->items[p], labels);
        if (!is_of_one) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->elsewhere;
        }
    }
}

/* ---- Hints ---- */

static bool
partition_may_help(void *self, const struct pod_view *pod, const struct object *old_object,
                   const struct object *new_object)
{
    const struct object *object = new_object != NULL ? new_object : old_object;
    size_t n;

    (void)self;
    for (const char *at = names_of(pod); (n = partition_next_name(&at)) > 0; at += n)
        if (strlen(object->meta->name) == n && strncmp(object->meta->name, at, n) == 0)
            return true;
    return false;
}

static bool
node_may_help(void *self, const struct pod_view *pod, const struct object *old_object,
              const struct object *new_object)
{
    const struct partition_self *me = self;
    size_t n;

    (void)old_object;
    if (new_object == NULL)
        return true;
    for (const char *at = names_of(pod); (n = partition_next_name(&at)) > 0; at += n) {
        const struct partition *p = find_partition(me, at, n);

        if (p != NULL && partition_has_node(p, &new_object->meta->labels))
            return true;
    }
    return false;
}

static const struct wake wakes[] = {
    {EVENT_PARTITION, ACTION_ALL, partition_may_help},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, node_may_help},
    WAKE_NEW_NODES,
};

const struct plugin node_partition_plugin = {
    .name = "Partition",
    .make = partition_make,
    .drop = free,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
    .sign = partition_sign,
    .sign_prefilter = partition_sign_prefilter,
    .prefilter = partition_prefilter,
    .filter = partition_filter,
};
