/* SPDX-License-Identifier: Apache-2.0 */
/* NumaFit - a node must have the cores, memory and devices that the pod's
 * placement asks for; chooses exactly which
 *
 * Extension points:  prefilter (for pods to come), filter, score, reserve
 * Arguments:         numaStrategy (default, kubelet), cpuManagerOptions,
 *                    preferClosestNumaNodes: which rules choose cores
 * Woken by:          a pod leaving; a reservation that moved or is gone; a node
 *                    joining or changing its resources; a partition whose nodes
 *                    have one pod each changing
 *
 * Where a pod is nominated, other pods keep off the exact cores, memory and
 * devices that it will get, not only off equal amounts of them.
 *
 * The plugin ignores nodes without a topology; the pod gets no allocation
 * there.
 */
#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/resources/kept_choices.h"
#include "controller/scheduler/plugins/resources/partition_demands.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/kubelet_grant.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/shortfall.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct numa_fit {
    struct handle *handle;
    bool is_kubelet;
    struct kubelet_rules rules;
    uint32_t reasons[ALLOCATOR_NO_SUCH_DEVICES + 1];
    struct kept_choices kept;
};

static const char *const reason_texts[] = {
    [ALLOCATOR_FITS] = "",
    [ALLOCATOR_NO_CORES] = "node(s) didn't have enough free whole cores",
    [ALLOCATOR_NO_SHARED] = "node(s) didn't have enough CPU left in the shared pool",
    [ALLOCATOR_NO_MEMORY] = "node(s) didn't have enough free memory in their NUMA nodes",
    [ALLOCATOR_NO_DEVICES] = "node(s) didn't have enough free devices",
    [ALLOCATOR_NO_HUGEPAGES] = "node(s) didn't have enough free huge pages",
    [ALLOCATOR_NOT_ALIGNED] = "node(s) couldn't align cores, memory and devices to NUMA nodes",
    [ALLOCATOR_NOT_EMPTY] = "node(s) were not empty",
    [ALLOCATOR_TOO_SMALL] = "node(s) were too small for the requested placement",
    [ALLOCATOR_NO_SUCH_DEVICES] = "node(s) didn't have the requested devices at all",
};

/* clang-format off */
static const struct field numa_fit_args_fields[] = {
    OPAQUE(STRING, "numaStrategy", 0, ONE_OF("default", "kubelet")),
    OPAQUE_LIST(STRING, "cpuManagerOptions", 0),
    OPAQUE(BOOL, "preferClosestNumaNodes", 0),
};
static OPAQUE_RECORD(numa_fit_args, "NumaFitArgs");
/* clang-format on */

/* The options are those of the kubelet, and are valid only with the kubelet's
 * strategy.
 */
static int
read_args(struct numa_fit *self, const struct json *args, struct error *err)
{
    const struct json *options = json_get(args, "cpuManagerOptions");
    const char *strategy = json_get_text(args, "numaStrategy");

    self->is_kubelet = strategy != NULL && strcmp(strategy, "kubelet") == 0;
    if (strategy != NULL && !self->is_kubelet && strcmp(strategy, "default") != 0)
        return error_set(err, -EINVAL, "numaStrategy: '%s' is neither default nor kubelet",
                         strategy);
    self->rules.prefers_closest = json_is_true(json_get(args, "preferClosestNumaNodes"));
    for (uint32_t i = 0; i < json_count(options); i++) {
        const char *name = json_text(json_at(options, i));

        if (name == NULL || !cpu_options_add(&self->rules.options, name))
            return error_set(err, -EINVAL,
                             "cpuManagerOptions: '%s' is not an option of the "
                             "kubelet's CPU manager, such as full-pcpus-only",
                             name != NULL ? name : "");
    }
    if (!self->is_kubelet && (json_count(options) > 0 || self->rules.prefers_closest))
        return error_set(err, -EINVAL,
                         "cpuManagerOptions and preferClosestNumaNodes "
                         "require numaStrategy: kubelet");
    return 0;
}

static struct demand
with_rules(const struct numa_fit *self, const struct demand *demand)
{
    struct demand d = *demand;

    d.rules = self->is_kubelet ? &self->rules : NULL;
    return d;
}

/* The pod's demands on that node (NULL: on any), with the strategy of this
 * profile. They are copied only where that is necessary, because this runs for
 * every node.
 */
struct node_demands {
    struct partition_demands of;
    struct demand copies[2];
};

static void
find_demands(const struct numa_fit *self, const struct pod_view *pod, const struct node_view *node,
             struct node_demands *d)
{
    partition_demands_find(self->handle, pod, node, &d->of);
    for (unsigned i = 0; self->is_kubelet && i < d->of.count; i++) {
        d->copies[i] = with_rules(self, d->of.items[i]);
        d->of.items[i] = &d->copies[i];
    }
}

static int
numa_fit_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct numa_fit *self = xnew(struct numa_fit);
    int r = read_args(self, args, err);

    if (r < 0) {
        free(self);
        return r;
    }
    self->handle = handle;
    for (unsigned i = 1; i < ARRAY_SIZE(reason_texts); i++)
        self->reasons[i] = handle_reason(handle, reason_texts[i]);
    *ret_self = self;
    return 0;
}

static bool
numa_fit_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const struct demand *d = pod->demand;
    const int64_t numbers[] = {
        (int64_t)d->numa_policy,
        (int64_t)d->distribution,
        (int64_t)d->memory_policy,
        d->is_exclusive,
        d->is_whole_node,
        d->has_far_devices,
        d->pus,
        d->threads_per_core,
        d->cores_per_package,
        d->shared_milli,
        d->memory_bytes,
        pod->whole_demand != NULL,
    };

    (void)self;
    for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++) {
        strbuf_add_char(out, ' ');
        strbuf_add_int(out, numbers[i]);
    }
    for (unsigned i = 0; i < d->n_devices; i++)
        strbuf_printf(out, " %s:%u:%s", d->devices[i].type, d->devices[i].count,
                      d->devices[i].model != NULL ? d->devices[i].model : "");
    for (unsigned i = 0; i < d->n_hugepages; i++)
        strbuf_printf(out, " %llu:%lld", (unsigned long long)d->hugepages[i].page_bytes,
                      (long long)d->hugepages[i].bytes);
    return true;
}

/* Precondition: the node has a topology. *ret_demand is the one that the choice,
 * or the answer, is for: the first that fits, or the last.
 */
static enum allocator_answer
choose(struct numa_fit *self, const struct cycle *c, const struct node_view *node,
       struct node_demands *d, const struct demand **ret_demand,
       struct allocator_choice *ret_choice)
{
    bool is_kept = c->pod->whole_demand == NULL; /* or it would be for one of two demands */
    const struct allocator_choice *kept = is_kept ? kept_choices_find(&self->kept, c, node) : NULL;
    enum allocator_answer answer = ALLOCATOR_FITS;

    find_demands(self, c->pod, node, d);
    *ret_demand = d->of.items[0];
    if (kept != NULL) {
        *ret_choice = *kept;
        return ALLOCATOR_FITS;
    }
    for (unsigned i = 0; i < d->of.count; i++) {
        *ret_demand = d->of.items[i];
        answer = allocator_choose(node->ledger.occupancy, *ret_demand, ret_choice);
        if (answer == ALLOCATOR_FITS)
            break;
    }
    if (answer == ALLOCATOR_FITS && is_kept)
        kept_choices_keep(&self->kept, c, node, ret_choice);
    return answer;
}

static void
numa_fit_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                unsigned count, struct answer *answers)
{
    struct numa_fit *me = self;

    for (unsigned i = 0; i < count; i++) {
        struct allocator_choice choice;
        enum allocator_answer answer;
        struct node_demands demands;
        const struct demand *d;

        if (nodes[i]->ledger.occupancy == NULL)
            continue;
        answer = choose(me, c, nodes[i], &demands, &d, &choice);
        if (answer == ALLOCATOR_FITS)
            continue;
        answers[i].verdict = allocator_answer_lasts(answer) ? VERDICT_NEVER : VERDICT_REJECT;
        answers[i].reason = me->reasons[answer];
    }
}

/* Grants the first demand that fits. */
static enum allocator_answer
grant_first(const struct numa_fit *self, const struct node_view *node, const struct pod_view *pod,
            struct grant *ret_grant)
{
    enum allocator_answer answer = ALLOCATOR_NO_CORES;
    struct node_demands d;

    find_demands(self, pod, node, &d);
    for (unsigned i = 0; i < d.of.count && answer != ALLOCATOR_FITS; i++)
        answer = allocator_grant(node->ledger.occupancy, d.of.items[i], ret_grant);
    return answer;
}

/* The cores that the pod, nominated on the node, will get once its victims are
 * gone; NULL: none.
 */
static struct holding *
find_future_holding(const struct numa_fit *self, struct node_view *node, const struct pod_view *pod)
{
    struct ledger *ledger = &node->ledger;
    size_t mark = journal_begin(ledger->journal);
    CLEANUP_FREE struct grant *grant = xnew(struct grant);
    enum allocator_answer answer;

    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *other = node->pods.items[i];

        if (other->holding != NULL && other->priority < pod->priority
            && pod_view_is_terminating(other))
            ledger_remove(ledger, other, i);
        else if (other->is_to_yield && other->priority < pod->priority)
            ledger_lend(ledger, other);
    }
    answer = grant_first(self, node, pod, grant);
    journal_roll_back(ledger->journal, mark);
    return answer == ALLOCATOR_FITS ? grant_holding(grant, ledger->occupancy->topology_index)
                                    : NULL;
}

static void
close_future_holding(struct journal_note *note, bool is_kept)
{
    (void)is_kept;
    holding_free(note->removed);
}

/* Called with a journal open, which frees the holding after it has undone the
 * entry.
 */
static void
keep_future_room(const struct numa_fit *self, struct node_view *node, const struct pod_view *pod)
{
    struct ledger *ledger = &node->ledger;
    struct holding *holding = find_future_holding(self, node, pod);
    struct ledger_entry entry = {
        .owner = pod,
        .state = LEDGER_NOMINATED,
        .from_us = INT64_MAX,
        .until_us = INT64_MAX,
    };
    const struct ledger_entry *found = ledger_find(ledger, pod);

    if (holding == NULL)
        return;
    if (found != NULL)
        entry = *found;
    entry.holding = holding;
    journal_add(ledger->journal, &(struct journal_note){
                                     .close = close_future_holding,
                                     .removed = holding,
                                 });
    ledger_remove(ledger, pod, ledger->count - 1);
    ledger_add(ledger, &entry);
}

static enum verdict
numa_fit_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                   uint32_t *ret_reason)
{
    struct numa_fit *me = self;

    (void)ret_result;
    (void)ret_reason;
    kept_choices_begin(&me->kept, c);
    return VERDICT_OK;
}

/* It is called with a journal open. The ledger has the holding of every bound or assumed pod.
 * A nominated or reserved pod has none yet, so one is computed here.
 */
static void
numa_fit_add_pod(void *self, struct cycle *c, const struct pod_view *other, struct node_view *node)
{
    (void)c;
    if (node->ledger.occupancy != NULL && other->holding == NULL
        && other->pod->spec.node_name == NULL)
        keep_future_room(self, node, other);
}

/* Takes away what nominated pods of the same or a higher priority will get.
 * Called with a journal open.
 */
static void
leave_room(const struct numa_fit *self, const struct cycle *c, struct node_view *node)
{
    for (uint32_t i = 0; i < node->ledger.n_nominated; i++)
        if (nominator_counts(nominator_pod(node, i), c->pod))
            keep_future_room(self, node, nominator_pod(node, i));
}

/* The score of an exclusive pod has five parts: up to 36 for few NUMA nodes
 * close together, 4 for no more L3 groups than necessary within one NUMA node,
 * 30 for filling the NUMA nodes that are used, and 20 for filling the node, so
 * that free room elsewhere stays in one piece. The last part, up to 9, is for a
 * high place in the stable order of nodes, so that nodes with a low place run
 * empty and a job that needs a whole node finds one.
 */
static int64_t
span_part(int64_t width, int64_t distance)
{
    return 360 / (width * (distance > 10 ? distance : 10));
}

#define WHOLE_PART 4

static int64_t
whole_part(int64_t split)
{
    return WHOLE_PART / (1 + split);
}

static int64_t
full_part(int64_t pus, int64_t left_pus)
{
    return pus > 0 ? 30 * pus / (pus + left_pus) : 0;
}

static int64_t
fuller_part(int64_t pus, int64_t free_pus, int64_t all_pus)
{
    return 20 - 20 * (free_pus - pus) / all_pus;
}

static int64_t
place_part(int64_t place)
{
    return place / 100;
}

static int64_t
numa_fit_score_one(void *self, const struct cycle *c, const struct node_view *node)
{
    const struct occupancy *o = node->ledger.occupancy;
    struct node_demands demands;
    const struct demand *d;
    struct allocator_choice choice;

    if (o == NULL || choose(self, c, node, &demands, &d, &choice) != ALLOCATOR_FITS)
        return 0;
    if (!d->is_exclusive)
        return SCORE_MAX / 2;
    return span_part(choice.width, choice.distance) + whole_part(choice.split)
           + full_part(d->pus, choice.left_pus)
           + fuller_part(d->pus, o->free_pus, o->topology_index->n_pus) + place_part(node->place);
}

/* Whether the number of PUs that the pod can use of a NUMA node depends only on
 * the threads of its cores, and on no rule about packages.
 */
static bool
uses_all_threads(const struct demand *d)
{
    return d->threads_per_core == 0 && d->cores_per_package == 0 && d->rules == NULL;
}

/* For one NUMA node; SCORE_NOWHERE: none has enough free PUs. */
static int64_t
best_on_one(const struct demand *d, const struct bounds *b)
{
    uint32_t step = bounds_find_step(b->numa_free, d->pus), least;

    if (step == BOUNDS_NO_STEP)
        return SCORE_NOWHERE;
    least = bounds_step_least(step);
    return span_part(1, 10) + WHOLE_PART
           + full_part(d->pus, uses_all_threads(d) && least > d->pus ? least - d->pus : 0);
}

/* For several NUMA nodes, whose least number follows from the bounds. */
static int64_t
best_on_several(const struct demand *d, const struct bounds *b)
{
    int64_t most = bounds_most_in_numa(b->numa_free);
    int64_t width = most > 0 ? (d->pus + most - 1) / most : 1;

    return span_part(width > 2 ? width : 2, 10) + WHOLE_PART + full_part(d->pus, 0);
}

static bool
may_fit(const struct demand *d, const struct bounds *b)
{
    if (d->pus > b->most_free_pus || b->most_free_pus == 0 || d->memory_bytes > b->most_free_memory)
        return false;
    for (unsigned i = 0; i < d->n_devices; i++)
        if (d->devices[i].count > b->most_free_devices)
            return false;
    return d->numa_policy != NUMA_SINGLE || d->rules != NULL
           || d->memory_bytes <= b->most_numa_memory;
}

static int64_t
best_score(const struct demand *d, const struct bounds *b)
{
    int64_t one, several, free_pus = b->least_free_pus;

    if (!may_fit(d, b))
        return b->has_bare ? 0 : SCORE_NOWHERE;
    if (!d->is_exclusive)
        return SCORE_MAX / 2;
    one = best_on_one(d, b);
    several =
        d->numa_policy == NUMA_SINGLE && d->rules == NULL ? SCORE_NOWHERE : best_on_several(d, b);
    if (several > one)
        one = several;
    if (one == SCORE_NOWHERE)
        return b->has_bare ? 0 : SCORE_NOWHERE;
    return one + fuller_part(d->pus, free_pus > d->pus ? free_pus : d->pus, b->most_pus)
           + place_part(b->most_place);
}

/* No node is known here on which the pod would need all of it. */
static int64_t
numa_fit_best_score(void *self, const struct cycle *c, const struct bounds *b)
{
    const struct demand d = with_rules(self, c->pod->demand);
    int64_t best = best_score(&d, b);

    if (c->pod->whole_demand != NULL) {
        const struct demand whole = with_rules(self, c->pod->whole_demand);
        int64_t other = best_score(&whole, b);

        best = other > best ? other : best;
    }
    return best;
}

static void
drop_topology_index(void *topology_index)
{
    topology_index_unref(topology_index);
}

/* Chooses free cores that no nominated pod will get; if there are not enough,
 * also cores of yielded pods with lower priority.
 */
static enum allocator_answer
choose_cores(const struct numa_fit *self, const struct cycle *c, const struct node_view *node,
             struct grant *ret_grant)
{
    const struct occupancy *o = node->ledger.occupancy;
    struct journal *journal = node->ledger.journal;
    const struct allocator_choice *kept;
    enum allocator_answer answer;
    size_t mark;

    if (node->ledger.n_nominated == 0 && node->ledger.n_yielded == 0) {
        const struct demand d = with_rules(self, c->pod->demand);

        kept = c->pod->whole_demand == NULL ? kept_choices_find(&self->kept, c, node) : NULL;
        return kept != NULL ? allocator_grant_choice(o, &d, kept, ret_grant)
                            : grant_first(self, node, c->pod, ret_grant);
    }
    mark = journal_begin(journal);
    leave_room(self, c, snapshot_find(c->snapshot, node->name));
    answer = grant_first(self, node, c->pod, ret_grant);
    if (answer != ALLOCATOR_FITS
        && node_view_lend_to(snapshot_find(c->snapshot, node->name), c->pod))
        answer = grant_first(self, node, c->pod, ret_grant);
    journal_roll_back(journal, mark);
    return answer;
}

static enum verdict
numa_fit_reserve(void *self, struct cycle *c, const struct node_view *node, uint32_t *ret_reason)
{
    const struct numa_fit *me = self;
    enum allocator_answer answer;
    struct grant *grant;

    if (node->ledger.occupancy == NULL)
        return VERDICT_OK;
    grant = xmalloc(sizeof(*grant)); /* large; the allocator sets it */
    answer = choose_cores(me, c, node, grant);
    if (answer != ALLOCATOR_FITS) {
        free(grant);
        *ret_reason = me->reasons[answer];
        return VERDICT_REJECT;
    }
    me->handle->hold(me->handle->owner, c->pod, node,
                     grant_holding(grant, node->ledger.occupancy->topology_index));
    cycle_put(c, CYCLE_GRANT, grant, free, NULL);
    cycle_put(c, CYCLE_TOPOLOGY_INDEX, topology_index_ref(node->ledger.occupancy->topology_index),
              drop_topology_index, NULL);
    return VERDICT_OK;
}

static const struct wake wakes[] = {
    {EVENT_RESERVATION, ACTION_ALL, NULL},
    {EVENT_POD, ACTION_DELETE, NULL},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_ALLOCATABLE, NULL},
    {EVENT_NODE, ACTION_UPDATE_NODE_LABEL, partition_demands_of_node_changed},
    {EVENT_PARTITION, ACTION_ALL, partition_demands_changed},
    WAKE_NEW_NODES,
};

static void
numa_fit_explain(void *self, const struct cycle *c, const struct node_view *node,
                 struct strbuf *out)
{
    struct node_demands demands;
    const struct demand *d;
    struct allocator_choice choice;
    enum allocator_answer answer;

    find_demands(self, c->pod, node, &demands);
    d = demands.of.items[demands.of.count - 1];
    if (node == NULL) {
        shortfall_format_need(d, out);
        return;
    }
    if (node->ledger.occupancy == NULL)
        return;
    answer = allocator_choose(node->ledger.occupancy, d, &choice);
    if (answer != ALLOCATOR_FITS)
        shortfall_format(node->ledger.occupancy, d, answer, out);
}

const struct plugin numa_fit_plugin = {
    .name = "NumaFit",
    .args = &numa_fit_args_record,
    .default_args = "{\"numaStrategy\":\"default\"}",
    .make = numa_fit_make,
    .drop = free,
    .filters_room = true,
    .sign = numa_fit_sign,
    .prefilter = numa_fit_prefilter,
    .add_pod = numa_fit_add_pod,
    .filter = numa_fit_filter,
    .score_one = numa_fit_score_one,
    .best_score = numa_fit_best_score,
    .reserve = numa_fit_reserve,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
    .explain = numa_fit_explain,
};
