/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of an answer: the nearest ones, and with how much smaller requests
 * the pod would fit.
 */
#include "controller/scheduler/explanation.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define NEAREST 3

/* A node that the pod may use by its selectors and the taints, and that has not
 * enough room now.
 */
struct open_node {
    const struct node_view *view;
    int64_t free_mcpu, free_bytes;
};

struct open_nodes {
    struct open_node *items;
    unsigned count;
};

static struct open_nodes
find_open(const struct explanation *e)
{
    const struct snapshot *s = e->of.snapshot;
    struct open_nodes open = {
        .items = arena_new_array(e->arena, struct open_node, s->n_nodes + 1),
    };

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node_view *v = s->nodes[i];

        if (start_estimate_is_open(&e->closers, &e->shortage, e->diagnosis, v))
            open.items[open.count++] = (struct open_node){
                .view = v,
                .free_mcpu = v->allocatable.cpu_milli - v->ledger.requested.cpu_milli,
                .free_bytes = v->allocatable.memory_bytes - v->ledger.requested.memory_bytes,
            };
    }
    return open;
}

/* The smaller of the free shares of the CPUs and of the memory that the pod
 * requests.
 */
static double
share(const struct explanation *e, const struct open_node *node)
{
    int64_t mcpu = e->pod->requests.cpu_milli;
    int64_t bytes = e->pod->requests.memory_bytes;
    double cpu = mcpu > 0 ? (double)node->free_mcpu / (double)mcpu : 1;
    double memory = bytes > 0 ? (double)node->free_bytes / (double)bytes : 1;

    cpu = cpu > 1 ? 1 : cpu;
    memory = memory > 1 ? 1 : memory;
    return cpu < memory ? cpu : memory;
}

static void
add_node(struct explanation *e, struct json *nodes, const struct open_node *node)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct json *item = json_object(e->arena);

    shortage_format(&e->shortage, node->view, &words);
    if (words.length == 0) /* others have the right to its room */
        strbuf_add_text(&words, "has room, but not for it now");
    json_set_string(e->arena, item, "node", node->view->name);
    json_set(e->arena, item, "message", explanation_text(e->arena, words.text, words.length));
    json_set_int(e->arena, item, "freeMilliCPU", node->free_mcpu > 0 ? node->free_mcpu : 0);
    json_set_int(e->arena, item, "milliCPU", node->view->allocatable.cpu_milli);
    json_set_int(e->arena, item, "freeMemory", node->free_bytes > 0 ? node->free_bytes : 0);
    json_set_int(e->arena, item, "memory", node->view->allocatable.memory_bytes);
    json_append(e->arena, nodes, item);
}

/* Adds the nodes with the most of what the pod requests. */
static void
add_nearest(struct explanation *e, const struct open_nodes *open)
{
    struct json *nodes = json_array(e->arena);
    const struct open_node *nearest[NEAREST];
    double shares[NEAREST];
    unsigned count = 0;

    for (unsigned i = 0; i < open->count; i++) {
        double has = share(e, &open->items[i]);
        unsigned at = count;

        while (at > 0 && has > shares[at - 1])
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--) {
            nearest[j] = nearest[j - 1];
            shares[j] = shares[j - 1];
        }
        nearest[at] = &open->items[i];
        shares[at] = has;
    }
    for (unsigned i = 0; i < count; i++)
        add_node(e, nodes, nearest[i]);
    if (count > 0)
        json_set(e->arena, e->answer, "nearest", nodes);
}

/* Rounds down to a whole number that people would ask for. */
static int64_t
round_bytes(int64_t bytes)
{
    const int64_t gib = INT64_C(1) << 30, mib = INT64_C(1) << 20;

    return bytes >= 8 * gib ? bytes / gib * gib : bytes / mib * mib;
}

/* Adds the largest free amount of one resource on a node that has enough of the
 * other, and the number of nodes on which a pod with that request would fit.
 */
static void
add_fit_with(struct explanation *e, const struct open_nodes *open, struct json *fits,
             bool of_memory)
{
    int64_t mcpu = e->pod->requests.cpu_milli;
    int64_t bytes = e->pod->requests.memory_bytes;
    int64_t best = 0;
    unsigned nodes = 0;
    struct json *fit;

    for (unsigned i = 0; i < open->count; i++) {
        const struct open_node *n = &open->items[i];
        int64_t has = of_memory ? round_bytes(n->free_bytes) : n->free_mcpu / 1000 * 1000;

        if ((of_memory ? n->free_mcpu >= mcpu : n->free_bytes >= bytes) && has > best)
            best = has;
    }
    if (best == 0 || best >= (of_memory ? bytes : mcpu))
        return;
    for (unsigned i = 0; i < open->count; i++)
        nodes += open->items[i].free_mcpu >= (of_memory ? mcpu : best)
                 && open->items[i].free_bytes >= (of_memory ? best : bytes);
    fit = json_object(e->arena);
    json_set_int(e->arena, fit, "nodes", nodes);
    json_set_int(e->arena, fit, of_memory ? "memory" : "milliCPU", best);
    json_append(e->arena, fits, fit);
}

void
explanation_add_needs(struct explanation *e)
{
    CLEANUP_STRBUF struct strbuf needs = STRBUF_INIT;

    shortage_format_needs(&e->shortage, &needs);
    if (needs.length > 0)
        json_set(e->arena, e->answer, "needs",
                 explanation_text(e->arena, needs.text, needs.length));
}

void
explanation_add_nodes(struct explanation *e)
{
    struct open_nodes open = find_open(e);
    struct json *fits = json_array(e->arena);
    bool is_plain = shortage_is_plain(&e->shortage);

    explanation_add_needs(e);
    json_set_bool(e->arena, e->answer, "isPlain", is_plain);
    add_nearest(e, &open);
    if (!is_plain)
        return;
    add_fit_with(e, &open, fits, true);
    add_fit_with(e, &open, fits, false);
    if (json_count(fits) > 0)
        json_set(e->arena, e->answer, "wouldFit", fits);
}
