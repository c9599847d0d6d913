/* SPDX-License-Identifier: Apache-2.0 */
/* NodeAffinity - spec.nodeSelector and spec.affinity.nodeAffinity
 *
 * Extension points:  prefilter, filter, prescore, score
 * Arguments:         addedAffinity, a node affinity that is added to every pod
 * Woken by:          a node joining, or its labels changing
 */
#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/node/selector_sign.h"
#include "lib/api/node/node.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct node_affinity_self {
    struct arena *arena;
    const struct node_affinity *added; /* never NULL; empty: none */
    uint32_t mismatch, enforced, conflict;
};

/* Refuses terms that upstream's matching cannot parse. */
static int
check_sound(const struct node_selector *selector, const char *where, struct error *err)
{
    return node_selector_is_valid(selector)
               ? 0
               : error_set(err, -EINVAL,
                           "addedAffinity.%s: a term has a value that its "
                           "operator does not allow: Gt and Lt require one "
                           "integer, the others valid label values",
                           where);
}

/* Validates addedAffinity as the affinity of a pod, and that all its terms can
 * be matched.
 */
static int
check_added(struct arena *arena, struct json *added, const struct node_affinity *read,
            struct error *err)
{
    static const char own[] = "nodeAffinity";
    struct json *affinity = json_object(arena);
    struct causes causes;

    json_set(arena, affinity, own, added);
    causes_init(&causes, arena);
    affinity_check(&causes, affinity);
    if (causes.count > 0)
        return error_set(err, -EINVAL, "addedAffinity%s: %s", causes.items[0].field + strlen(own),
                         causes.items[0].message);
    if (read->required != NULL
        && check_sound(read->required, "requiredDuringSchedulingIgnoredDuringExecution", err) < 0)
        return -EINVAL;
    for (unsigned i = 0; i < read->preferred.count; i++) {
        struct node_selector one = {.terms = {&read->preferred.items[i].preference, 1}};

        if (check_sound(&one, "preferredDuringSchedulingIgnoredDuringExecution", err) < 0)
            return -EINVAL;
    }
    return 0;
}

/* Decodes it as part of a pod spec, the smallest public table that contains it.
 */
static const struct node_affinity *
read_added(struct arena *arena, struct json *added)
{
    static const struct node_affinity none;
    struct pod_spec *spec = arena_alloc(arena, sizeof(*spec));
    struct json *tree = json_object(arena);

    if (added == NULL)
        return &none;
    json_set(arena, json_make_object(arena, tree, "affinity"), "nodeAffinity", added);
    record_decode(&pod_spec_record, arena, tree, spec);
    return spec->affinity->node_affinity;
}

static const struct field node_affinity_args_fields[] = {
    OPAQUE_OBJECT("addedAffinity", node_affinity, 0),
};
static OPAQUE_RECORD(node_affinity_args, "NodeAffinityArgs");

static void
node_affinity_drop(void *arg)
{
    struct node_affinity_self *self = arg;

    arena_free(self->arena);
    free(self);
}

static int
node_affinity_make(struct handle *handle, const struct json *args, void **ret_self,
                   struct error *err)
{
    struct node_affinity_self *self = xnew(struct node_affinity_self);
    struct json *added = NULL;

    self->arena = arena_new(0);
    if (json_get(args, "addedAffinity") != NULL)
        added = json_dup(self->arena, json_get(args, "addedAffinity"));
    self->added = read_added(self->arena, added);
    if (added != NULL && check_added(self->arena, added, self->added, err) < 0) {
        node_affinity_drop(self);
        return -EINVAL;
    }
    self->mismatch = handle_reason(handle, "node(s) didn't match Pod's node affinity/selector");
    self->enforced = handle_reason(handle, "node(s) didn't match scheduler-enforced node affinity");
    self->conflict = handle_reason(handle, "pod affinity terms conflict");
    *ret_self = self;
    return 0;
}

static const struct node_affinity *
affinity_of(const struct pod_view *pod)
{
    const struct affinity *a = pod->pod->spec.affinity;

    return a != NULL ? a->node_affinity : NULL;
}

static const struct node_selector *
required_of(const struct pod_view *pod)
{
    const struct node_affinity *a = affinity_of(pod);

    return a != NULL ? a->required : NULL;
}

static bool
node_affinity_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const struct node_affinity *a = affinity_of(pod);

    (void)self;
    required_nodes_sign(&pod->pod->spec, out);
    for (unsigned i = 0; a != NULL && i < a->preferred.count; i++) {
        strbuf_printf(out, "?%lld ", (long long)a->preferred.items[i].weight);
        node_term_sign(&a->preferred.items[i].preference, out);
    }
    return true;
}

/* The node names that a term allows by metadata.name; false: all names. */
static bool
names_of_term(const struct node_selector_term *term, struct prefilter_result *names)
{
    bool has_names = false;

    for (unsigned i = 0; i < term->match_fields.count; i++) {
        const struct selector_requirement *r = &term->match_fields.items[i];
        unsigned kept = 0;

        if (strcmp(r->key, "metadata.name") != 0 || strcmp(r->operator_, "In") != 0)
            continue;
        if (!has_names) {
            has_names = true;
            names->count = r->values.count;
            names->names = xnew_array(const char *, r->values.count + 1);
            for (unsigned v = 0; v < r->values.count; v++)
                names->names[v] = r->values.items[v];
            continue;
        }
        for (unsigned n = 0; n < names->count; n++)
            for (unsigned v = 0; v < r->values.count; v++)
                if (strcmp(names->names[n], r->values.items[v]) == 0) {
                    names->names[kept++] = names->names[n];
                    break;
                }
        names->count = kept;
    }
    return has_names;
}

static void
add_names(struct prefilter_result *all, const struct prefilter_result *more)
{
    all->names =
        xrealloc_array((void *)all->names, all->count + more->count + 1, sizeof(*all->names));
    for (unsigned i = 0; i < more->count; i++) {
        bool is_known = false;

        for (unsigned j = 0; j < all->count && !is_known; j++)
            is_known = strcmp(all->names[j], more->names[i]) == 0;
        if (!is_known)
            all->names[all->count++] = more->names[i];
    }
}

static enum verdict
narrow(const struct node_selector *required, struct prefilter_result *ret_result)
{
    struct prefilter_result all = {.has_names = true};

    for (unsigned i = 0; i < required->terms.count; i++) {
        struct prefilter_result one = {0};

        if (!names_of_term(&required->terms.items[i], &one)) {
            free((void *)all.names);
            return VERDICT_OK;
        }
        add_names(&all, &one);
        free((void *)one.names);
    }
    if (all.count == 0) {
        free((void *)all.names);
        return VERDICT_NEVER;
    }
    *ret_result = all;
    return VERDICT_OK;
}

static enum verdict
node_affinity_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                        uint32_t *ret_reason)
{
    const struct node_affinity_self *me = self;
    const struct node_selector *required = required_of(c->pod);
    enum verdict verdict;

    if (required == NULL && me->added->required == NULL
        && c->pod->pod->spec.node_selector.count == 0)
        return VERDICT_SKIP;
    if (required == NULL || required->terms.count == 0)
        return VERDICT_OK;
    verdict = narrow(required, ret_result);
    if (verdict != VERDICT_OK)
        *ret_reason = me->conflict;
    return verdict;
}

static bool
has_labels(const struct string_map *wanted, const struct string_map *labels)
{
    for (unsigned i = 0; i < wanted->count; i++) {
        const char *value = string_map_find(labels, wanted->items[i].key);

        if (value == NULL || strcmp(value, wanted->items[i].value) != 0)
            return false;
    }
    return true;
}

static bool
matches_required(const struct pod_view *pod, const struct meta *node)
{
    const struct node_selector *required = required_of(pod);

    return has_labels(&pod->pod->spec.node_selector, &node->labels)
           && (required == NULL || node_selector_matches(required, &node->labels, node->name));
}

static bool
matches_added(const struct node_affinity_self *me, const struct meta *node)
{
    return me->added->required == NULL
           || node_selector_matches(me->added->required, &node->labels, node->name);
}

static void
node_affinity_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                     unsigned count, struct answer *answers)
{
    const struct node_affinity_self *me = self;

    for (unsigned i = 0; i < count; i++) {
        const struct meta *node = &nodes[i]->node->meta;

        if (!matches_added(me, node)) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->enforced;
        } else if (!matches_required(c->pod, node)) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->mismatch;
        }
    }
}

static enum verdict
node_affinity_prescore(void *self, struct cycle *c, const struct node_view *const *nodes,
                       unsigned count)
{
    const struct node_affinity_self *me = self;
    const struct node_affinity *a = affinity_of(c->pod);

    (void)nodes, (void)count;
    return (a == NULL || a->preferred.count == 0) && me->added->preferred.count == 0 ? VERDICT_SKIP
                                                                                     : VERDICT_OK;
}

static int64_t
weight_of(const struct node_affinity *a, const struct meta *node)
{
    int64_t sum = 0;

    for (unsigned i = 0; a != NULL && i < a->preferred.count; i++)
        if (node_selector_term_matches(&a->preferred.items[i].preference, &node->labels,
                                       node->name))
            sum += a->preferred.items[i].weight;
    return sum;
}

static int64_t
node_affinity_score_one(void *self, const struct cycle *c, const struct node_view *node)
{
    const struct node_affinity_self *me = self;

    return weight_of(affinity_of(c->pod), &node->node->meta)
           + weight_of(me->added, &node->node->meta);
}

/* An invalid selector of the pod activates it again, as upstream's parse errors
 * do.
 */
static bool
node_hint(void *self, const struct pod_view *pod, const struct object *old_object,
          const struct object *new_object)
{
    const struct node_selector *required = required_of(pod);

    if (!matches_added(self, new_object->meta))
        return false;
    if (!matches_required(pod, new_object->meta))
        return required != NULL && !node_selector_is_valid(required)
               && has_labels(&pod->pod->spec.node_selector, &new_object->meta->labels);
    return old_object == NULL || !matches_required(pod, old_object->meta);
}

static const struct wake wakes[] = {
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, node_hint},
    WAKE_NEW_NODES,
};

const struct plugin node_affinity_plugin = {
    .name = "NodeAffinity",
    .args = &node_affinity_args_record,
    .make = node_affinity_make,
    .drop = node_affinity_drop,
    .sign = node_affinity_sign,
    .prefilter = node_affinity_prefilter,
    .filter = node_affinity_filter,
    .prescore = node_affinity_prescore,
    .score_one = node_affinity_score_one,
    .normalization = NORMALIZE_BY_MOST,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
