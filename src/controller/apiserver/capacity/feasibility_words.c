/* SPDX-License-Identifier: Apache-2.0 */
/* feasibility_words.c - why no node could ever run a pod, and what comes nearest
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/capacity/feasibility_search.h"
#include "controller/apiserver/capacity/node_classes.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/shortfall.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"

#define LABEL_FEATURE "feature.kiln.hpc/"
#define DEVICE_PREFIX "kiln.hpc/"
#define AMOUNTS_MOST  64u
#define OFFERED_MOST  4u   /* words that are offered instead of a wrong one */
#define SPELLED_MOST  256u /* words that a wrong one is compared with */

/* ---- Why no node could ---- */

/* The node that comes nearest among those that the pod asks for. */
struct findings {
    size_t in_partition, wanted;
    const struct class_node *nearest;
    double lacks;
    unsigned can[AMOUNTS_MOST]; /* by amount: how many of the wanted have it */
};

static double
lack_of(const struct feasibility_search *s, const struct class_node *node)
{
    double sum = 0;

    for (unsigned i = 0; i < feasibility_asked_count(s); i++) {
        const struct asked_size a = feasibility_asked_at(s, node, i);

        if (a.needs > a.has)
            sum += (double)(a.needs - a.has) / (double)a.needs;
    }
    return sum;
}

static bool
note_node(struct feasibility_search *s, const struct class_node *node, void *context)
{
    struct findings *f = context;
    double lacks;

    f->in_partition += feasibility_is_in_partition(s, node);
    if (!feasibility_is_wanted(s, node) || node->class == NULL)
        return true;
    f->wanted++;
    for (unsigned i = 0; i < feasibility_asked_count(s) && i < AMOUNTS_MOST; i++) {
        const struct asked_size a = feasibility_asked_at(s, node, i);

        f->can[i] += a.needs <= a.has;
    }
    lacks = lack_of(s, node);
    if (f->nearest == NULL || lacks < f->lacks
        || (lacks <= f->lacks
            && strverscmp(node->object->meta->name, f->nearest->object->meta->name) < 0)) {
        f->nearest = node;
        f->lacks = lacks;
    }
    return true;
}

/* ---- Words instead of a wrong one ---- */

struct offered_words {
    const char *items[SPELLED_MOST];
    size_t count;
};

static void
add_word(struct offered_words *all, const char *word)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i], word) == 0)
            return;
    if (all->count < ARRAY_SIZE(all->items))
        all->items[all->count++] = word;
}

/* "; did you mean gpu?", or "; there are gpu, avx512" if none is similar. */
static void
offer(const struct offered_words *all, const char *wrong, struct strbuf *out)
{
    const char *nearest = spelling_nearest(wrong, all->items, all->count);

    if (nearest != NULL) {
        strbuf_printf(out, "; did you mean %.60s?", nearest);
        return;
    }
    for (size_t i = 0; i < all->count && i < OFFERED_MOST; i++)
        strbuf_printf(out, "%s%.60s", i == 0 ? "; there are: " : ", ", all->items[i]);
    if (all->count > OFFERED_MOST)
        strbuf_add_text(out, ", ...");
}

static bool
note_models(struct feasibility_search *s, const struct class_node *node, void *context)
{
    const struct topology *t;

    if (!feasibility_is_wanted(s, node) || node->class == NULL || node->class->room == NULL)
        return true;
    t = node->class->room->topology_index->topology;
    for (unsigned i = 0; i < t->n_devices; i++)
        if (strcmp(t->devices[i].type, "gpu") == 0 && t->devices[i].model != NULL)
            add_word(context, t->devices[i].model);
    return true;
}

static void
offer_models(struct feasibility_search *s, const char *model, struct strbuf *out)
{
    CLEANUP_FREE struct offered_words *models = xnew(struct offered_words);

    feasibility_visit(s, note_models, models);
    offer(models, model, out);
}

/* ---- Amounts ---- */

static void
add_cpus(struct strbuf *out, int64_t milli)
{
    if (milli % 1000 == 0)
        strbuf_printf(out, "%" PRId64, milli / 1000);
    else
        strbuf_printf(out, "%g", (double)milli / 1000);
}

static bool
is_of_bytes(const char *name)
{
    return strcmp(name, "memory") == 0 || strcmp(name, "scratch") == 0
           || strcmp(name, "ephemeral-storage") == 0 || strncmp(name, "hugepages-", 10) == 0;
}

/* "1000 CPUs", "48 GiB of memory", "2 gpus". Exact: bytes are not rounded. */
static void
add_amount(const char *name, int64_t amount, bool is_exact, struct strbuf *out)
{
    const size_t skip = strlen(DEVICE_PREFIX);
    const bool is_device = strncmp(name, DEVICE_PREFIX, skip) == 0;

    if (strcmp(name, "cpu") == 0) {
        add_cpus(out, amount);
        strbuf_printf(out, " CPU%s", amount == 1000 ? "" : "s");
    } else if (is_of_bytes(name)) {
        if (is_exact)
            strbuf_printf(out, "%" PRId64 " KiB", (amount + 1023) / 1024);
        else
            job_reason_add_bytes(amount, out);
        strbuf_printf(out, " of %s", name);
    } else if (is_device) {
        strbuf_printf(out, "%" PRId64 " %s%s", amount, name + skip, amount == 1 ? "" : "s");
    } else {
        strbuf_printf(out, "%" PRId64 " %s", amount, name);
    }
}

/* The need and the amount of the node look alike when they are rounded. */
static bool
is_near(const struct asked_size *a)
{
    CLEANUP_STRBUF struct strbuf needs = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf has = STRBUF_INIT;

    add_amount(a->name, a->needs, false, &needs);
    add_amount(a->name, a->has, false, &has);
    return a->needs > a->has && strcmp(needs.text, has.text) == 0;
}

static void
add_needs(const struct asked_size *a, struct strbuf *out)
{
    add_amount(a->name, a->needs, is_near(a), out);
    if (a->model != NULL)
        strbuf_printf(out, " (%.60s)", a->model);
}

/* One amount is too large for every node: "no node has 1000 CPUs; the nearest,
 * n1, has 64 CPUs".
 */
static bool
describe_amount(struct feasibility_search *s, const struct findings *f, struct strbuf *out)
{
    const bool is_one = job_wait_node(s->spec) != NULL;
    unsigned i = 0;
    struct asked_size a;

    while (i < feasibility_asked_count(s) && i < AMOUNTS_MOST && f->can[i] > 0)
        i++;
    if (i == feasibility_asked_count(s) || i == AMOUNTS_MOST)
        return false;
    a = feasibility_asked_at(s, f->nearest, i);
    job_wait_format_nodes(s->spec, out);
    strbuf_add_text(out, is_one ? " does not have " : " has ");
    add_needs(&a, out);
    if (a.model != NULL && a.has == 0) {
        offer_models(s, a.model, out);
        return true;
    }
    if (is_one)
        strbuf_add_text(out, "; it has ");
    else
        strbuf_printf(out, "; the nearest, %.100s, has ", f->nearest->object->meta->name);
    if (a.has > 0)
        add_amount(a.name, a.has, is_near(&a), out);
    else
        strbuf_add_text(out, "none");
    return true;
}

/* Each amount is on some node, but not all of them on one. */
static bool
describe_together(const struct feasibility_search *s, const struct findings *f, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf has = STRBUF_INIT;
    bool is_any = false;

    for (unsigned i = 0; i < feasibility_asked_count(s); i++) {
        const struct asked_size a = feasibility_asked_at(s, f->nearest, i);

        if (a.needs == 0)
            continue;
        is_any |= a.needs > a.has;
        strbuf_add_text(&has, has.length > 0 ? " and " : "");
        add_amount(a.name, a.has, is_near(&a), &has);
    }
    if (!is_any)
        return false;
    job_wait_format_nodes(s->spec, out);
    strbuf_add_text(out, " has ");
    for (unsigned i = 0, n = 0; i < feasibility_asked_count(s); i++) {
        const struct asked_size a = feasibility_asked_at(s, f->nearest, i);

        if (a.needs == 0)
            continue;
        strbuf_add_text(out, n++ > 0 ? " and " : "");
        add_needs(&a, out);
    }
    strbuf_printf(out, " together; the nearest, %.100s, has %s", f->nearest->object->meta->name,
                  has.text);
    return true;
}

/* The amounts would suffice, but not as cores of NUMA nodes. */
static void
describe_allocator(const struct feasibility_search *s, const struct findings *f, struct strbuf *out)
{
    struct demand d;
    const enum allocator_answer answer = feasibility_ask_allocator(s, f->nearest->class, &d);

    job_wait_format_nodes(s->spec, out);
    strbuf_add_text(out, job_wait_node(s->spec) != NULL ? " does not have " : " has ");
    shortfall_format_need(&s->demand, out);
    if (job_wait_node(s->spec) != NULL)
        strbuf_add_text(out, "; it ");
    else
        strbuf_printf(out, "; the nearest, %.100s, ", f->nearest->object->meta->name);
    shortfall_format(f->nearest->class->room, &d, answer, out);
}

/* ---- Labels and names ---- */

/* The labels of all nodes of the pod's partition with that key, or the keys
 * that begin with it.
 */
struct label_search {
    const char *key;
    bool is_prefix;
    struct offered_words *words;
    const struct feasibility_search *s;
};

static bool
note_labels(struct feasibility_search *s, const struct class_node *node, void *context)
{
    struct label_search *l = context;
    const struct string_map *labels = &node->object->meta->labels;
    const size_t n = strlen(l->key);

    if (!feasibility_is_in_partition(s, node))
        return true;
    for (unsigned i = 0; i < labels->count; i++)
        if (l->is_prefix && strncmp(labels->items[i].key, l->key, n) == 0)
            add_word(l->words, labels->items[i].key + n);
        else if (!l->is_prefix && strcmp(labels->items[i].key, l->key) == 0)
            add_word(l->words, labels->items[i].value);
    return true;
}

/* The first requirement that no node of the partition meets. */
static bool
offer_labels(struct feasibility_search *s, const char *key, const char *value, struct strbuf *out)
{
    const size_t n = strlen(LABEL_FEATURE);
    CLEANUP_FREE struct offered_words *words = xnew(struct offered_words);
    struct label_search l = {.key = key, .words = words};
    const char *wrong = value;

    if (strncmp(key, LABEL_FEATURE, n) == 0) {
        l.key = LABEL_FEATURE;
        l.is_prefix = true;
        wrong = key + n;
    }
    if (wrong == NULL)
        return false;
    feasibility_visit(s, note_labels, &l);
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], wrong) == 0)
            return false;
    offer(words, wrong, out);
    return true;
}

static void
offer_for_labels(struct feasibility_search *s, struct strbuf *out)
{
    const struct affinity *a = s->spec->affinity;
    const struct node_selector *required =
        a != NULL && a->node_affinity != NULL ? a->node_affinity->required : NULL;

    for (unsigned i = 0; i < s->spec->node_selector.count; i++)
        if (offer_labels(s, s->spec->node_selector.items[i].key,
                         s->spec->node_selector.items[i].value, out))
            return;
    for (unsigned i = 0; required != NULL && required->terms.count == 1
                         && i < required->terms.items[0].match_expressions.count;
         i++) {
        const struct selector_requirement *r = &required->terms.items[0].match_expressions.items[i];

        if (strcmp(r->operator_, "Exists") != 0 && strcmp(r->operator_, "In") != 0)
            continue;
        if (offer_labels(s, r->key, r->values.count > 0 ? r->values.items[0] : NULL, out))
            return;
    }
}

static bool
add_name(const char *name, void *context)
{
    struct offered_words *all = context;

    all->items[all->count++] = name;
    return all->count < ARRAY_SIZE(all->items);
}

static void
describe_absent(const struct feasibility_search *s, const char *node, struct strbuf *out)
{
    CLEANUP_FREE struct offered_words *names = xnew(struct offered_words);
    const char *nearest;

    node_classes_visit_names(s->q->nodes, add_name, names);
    nearest = spelling_nearest(node, names->items, names->count);
    strbuf_printf(out, "there is no node %.100s", node);
    if (nearest != NULL)
        strbuf_printf(out, "; did you mean %.100s?", nearest);
}

static void
describe_unwanted(struct feasibility_search *s, const struct findings *f, struct strbuf *out)
{
    const char *node = job_wait_node(s->spec);
    const struct class_node *named = node != NULL ? node_classes_find(s->q->nodes, node) : NULL;

    if (node != NULL && named == NULL) {
        describe_absent(s, node, out);
        return;
    }
    if (s->is_only_named && (named == NULL || map_find(s->named, node) == NULL)) {
        strbuf_printf(out, "no node of reservation %.60s is one that it asks for",
                      s->spec->placement->reservation);
        return;
    }
    if (f->in_partition == 0 && s->partition != NULL) {
        strbuf_printf(out, "partition %.100s has no nodes", s->partition);
        return;
    }
    job_wait_format(
        &(struct job_wait){
            .kind = WAIT_UNWANTED,
            .is_outside =
                named != NULL && s->partition != NULL && !feasibility_is_in_partition(s, named),
        },
        s->spec, out);
    if (node == NULL)
        offer_for_labels(s, out);
}

void
feasibility_format_why(struct feasibility_search *s, struct strbuf *out)
{
    struct findings f = {.in_partition = 0};

    feasibility_visit(s, note_node, &f);
    if (f.nearest == NULL)
        describe_unwanted(s, &f, out);
    else if (!describe_amount(s, &f, out) && !describe_together(s, &f, out))
        describe_allocator(s, &f, out);
}

/* "3 nodes are needed at the same time; partition all has 2 that could run it" */
void
feasibility_format_few(const struct feasibility_search *s, uint64_t room, uint64_t nodes,
                       struct strbuf *out)
{
    const bool is_of_nodes = s->q->is_one_per_node || room == nodes;

    strbuf_printf(out,
                  is_of_nodes ? "it needs %u nodes at the same time, and "
                              : "it needs room for %u pods at the same time, and ",
                  s->q->together);
    if (s->is_only_named)
        strbuf_printf(out, "reservation %.60s", s->spec->placement->reservation);
    else if (s->partition != NULL)
        strbuf_printf(out, "partition %.100s", s->partition);
    else
        strbuf_add_text(out, "the cluster");
    if (s->q->topology_key != NULL)
        strbuf_printf(out, " has at most %" PRIu64 " with the same value of the label '%.100s'",
                      is_of_nodes ? nodes : room, s->q->topology_key);
    else if (is_of_nodes)
        strbuf_printf(out, " has %" PRIu64 " that could run it", nodes);
    else
        strbuf_printf(out, " has room for %" PRIu64 " on %" PRIu64 " node%s", room, nodes,
                      nodes == 1 ? "" : "s");
}
