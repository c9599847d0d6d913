/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/debugger.h"

#include <stdbool.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"

struct debugger {
    struct debugger_settings settings;
    struct client_call *nodes; /* under way, or NULL */
    struct client_call *pods;
};

struct debugger *
debugger_new(const struct debugger_settings *settings)
{
    struct debugger *d = xnew(struct debugger);

    d->settings = *settings;
    return d;
}

void
debugger_free(struct debugger *d)
{
    if (d == NULL)
        return;
    client_cancel(d->nodes);
    client_cancel(d->pods);
    free(d);
}

/* The dump */

static void
dump_node(const struct debugger *d, const struct node_view *node, struct strbuf *out)
{
    strbuf_printf(out,
                  "node %s: %u pods, %lld of %lld milli-CPUs and %lld of "
                  "%lld bytes requested, generation %llu\n",
                  node->name, node->pods.count, (long long)node->ledger.requested.cpu_milli,
                  (long long)node->allocatable.cpu_milli,
                  (long long)node->ledger.requested.memory_bytes,
                  (long long)node->allocatable.memory_bytes, (unsigned long long)node->generation);
    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *pod = node->pods.items[i];

        strbuf_printf(out, "node %s: pod %s/%s%s\n", node->name, pod->namespace, pod->name,
                      cache_is_assumed(d->settings.cache, pod) ? ", assumed" : "");
    }
    list_foreach(link, &node->retained)
        strbuf_printf(out, "node %s: pod of uid %s is gone and still holds resources\n", node->name,
                      container_of(link, struct retained_allocation, link)->uid);
    for (uint32_t i = 0; i < node->ledger.n_nominated; i++)
        strbuf_printf(out, "node %s: pod %s/%s is nominated\n", node->name,
                      nominator_pod(node, i)->namespace, nominator_pod(node, i)->name);
}

static void
dump_pod(const struct queued_pod *pod, void *context)
{
    static const char *const state_names[] = {
        [QUEUE_ACTIVE] = "active",
        [QUEUE_BACKOFF] = "backing off",
        [QUEUE_UNSCHEDULABLE] = "unschedulable",
        [QUEUE_GATED] = "gated",
        [QUEUE_IN_FLIGHT] = "in flight",
        [QUEUE_IN_GROUP] = "in its group",
    };

    const struct pod_spec *spec = &pod->pod->pod->spec;

    strbuf_printf(context, "waiting pod %s: %s, attempts %u, priority %lld, tier %lld\n", pod->key,
                  state_names[pod->state], pod->attempts,
                  (long long)(spec->priority != NULL ? *spec->priority : 0),
                  (long long)pod->pod->tier);
}

static void
dump(const struct debugger *d, struct strbuf *out)
{
    struct snapshot snapshot = {0};

    cache_update_snapshot(d->settings.cache, &snapshot);
    for (uint32_t i = 0; i < snapshot.n_nodes; i++)
        dump_node(d, snapshot.nodes[i], out);
    queue_visit(d->settings.queue, dump_pod, out);
}

/* The comparison */

/* The expected keys are removed one by one; those that are left are redundant.
 */
struct cache_comparison {
    struct map *known; /* a set: the values do not matter */
    const char *what;
    struct strbuf *out;
};

static void
comparison_add(struct cache_comparison *c, const char *key)
{
    map_put(c->known, key, c);
}

static void
comparison_strike(struct cache_comparison *c, const char *key)
{
    if (map_remove(c->known, key) == NULL)
        strbuf_printf(c->out, "missed %s %s\n", c->what, key);
}

static void
comparison_close(struct cache_comparison *c)
{
    size_t at = 0;
    const char *key;
    void *value;

    while (map_next(c->known, &at, &key, &value))
        strbuf_printf(c->out, "redundant %s %s\n", c->what, key);
    map_free(c->known);
}

static void
compare_nodes(const struct debugger *d, const struct object *const *nodes, size_t count,
              struct strbuf *out)
{
    struct cache_comparison c = {.known = map_new(), .what = "node", .out = out};
    struct snapshot snapshot = {0};

    cache_update_snapshot(d->settings.cache, &snapshot);
    for (uint32_t i = 0; i < snapshot.n_nodes; i++)
        comparison_add(&c, snapshot.nodes[i]->name);
    for (size_t i = 0; i < count; i++)
        comparison_strike(&c, nodes[i]->meta->name);
    comparison_close(&c);
}

static void
add_cached(const struct pod_view *pod, bool is_assumed, void *context)
{
    CLEANUP_FREE char *key = xasprintf("%s/%s", pod->namespace, pod->name);

    (void)is_assumed;
    comparison_add(context, key);
}

static void
add_queued(const struct queued_pod *pod, void *context)
{
    comparison_add(context, pod->key);
}

/* Finished pods are ignored. Unbound pods of other schedulers are not expected
 * here, and only the queue knows which pods these are.
 */
static void
compare_pods(const struct debugger *d, const struct object *const *pods, size_t count,
             struct strbuf *out)
{
    struct cache_comparison c = {.known = map_new(), .what = "pod", .out = out};
    char key[OBJECT_KEY_SIZE];

    cache_visit_pods(d->settings.cache, add_cached, &c);
    queue_visit(d->settings.queue, add_queued, &c);
    for (size_t i = 0; i < count; i++) {
        const struct pod *pod = pod_of(pods[i]);
        bool is_bound = pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';

        object_key(pods[i], key);
        if (is_bound && !pod_is_finished(pod))
            comparison_strike(&c, key);
        else
            map_remove(c.known, key);
    }
    comparison_close(&c);
}

/* The API and the log */

static void
log_lines(const char *text)
{
    for (; *text != '\0'; text += strcspn(text, "\n") + 1)
        log_info("%.*s", (int)strcspn(text, "\n"), text);
}

typedef void compare_fn(const struct debugger *d, const struct object *const *objects, size_t count,
                        struct strbuf *out);

static void
compare(const struct debugger *d, const struct client_reply *reply, const char *what,
        compare_fn *run)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    if (client_reply_error(reply, &err) < 0) {
        log_warning("cannot compare the %s: %s", what, err.text);
        return;
    }
    run(d, reply->objects, reply->n_objects, &text);
    if (text.length == 0)
        log_info("comparison: the cache has the same %zu %s as the API", reply->n_objects, what);
    for (const char *line = text.text; text.length > 0 && *line != '\0';
         line += strcspn(line, "\n") + 1)
        log_warning("comparison: %.*s", (int)strcspn(line, "\n"), line);
}

static void
nodes_listed(const struct client_reply *reply, void *context)
{
    struct debugger *d = context;

    d->nodes = NULL;
    compare(d, reply, "nodes", compare_nodes);
}

static void
pods_listed(const struct client_reply *reply, void *context)
{
    struct debugger *d = context;

    d->pods = NULL;
    compare(d, reply, "pods", compare_pods);
}

static struct client_call *
list(struct debugger *d, const struct kind *kind, client_done_fn *done)
{
    return client_call(d->settings.client, NULL,
                       &(struct client_request){.verb = CLIENT_LIST, .kind = kind}, done, d);
}

void
debugger_run(struct debugger *d)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    dump(d, &text);
    log_lines(text.length > 0 ? text.text : "no node and no waiting pod\n");
    if (d->nodes == NULL)
        d->nodes = list(d, &node_kind, nodes_listed);
    if (d->pods == NULL)
        d->pods = list(d, &pod_kind, pods_listed);
}
