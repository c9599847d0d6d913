/* SPDX-License-Identifier: Apache-2.0 */
/* Why a pod waits, in words. */
#include <errno.h>
#include <stdlib.h>

#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/strbuf.h"

#define NEAREST 3

/* The further a node came through the filters, the nearer it is; one that no
 * change of pods can help is not near at all.
 */
static int
nearness(const struct diagnosis *d, const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    return a.verdict == VERDICT_REJECT ? a.plugin : -1;
}

static unsigned
find_nearest(const struct diagnosis *d, struct node_view *out[NEAREST])
{
    unsigned count = 0;

    for (uint32_t i = 0; i < d->snapshot->n_nodes; i++) {
        struct node_view *node = d->snapshot->nodes[i];
        unsigned at = count;

        if (nearness(d, node) < 0)
            continue;
        while (at > 0 && nearness(d, out[at - 1]) < nearness(d, node))
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--)
            out[j] = out[j - 1];
        out[at] = node;
    }
    return count;
}

static void
explain_node(const struct profile *p,
             const struct cycle *c,
             const struct node_view *node,
             struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0; i < p->n_entries; i++)
        if (p->entries[i].plugin->explain != NULL)
            p->entries[i].plugin->explain(p->entries[i].self, c, node, &text);
    if (text.length < 2)
        return;
    strbuf_truncate(&text, text.length - 2);
    strbuf_printf(out, "\n%s: %s", node->name, text.text);
}

static void
explain_now(struct scheduler *s,
            const struct queued_pod *queued,
            struct strbuf *out)
{
    struct node_view *nearest[NEAREST], *node;
    struct cycle c;

    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_init(&c, queued->pod, &s->snapshot);
    node = node_finder_find(s->node_finder, queued->profile, &c, NULL);
    if (node != NULL) {
        strbuf_printf(out, "would fit on node '%s' now", node->name);
        if (s->extender_rounds != NULL
            && extender_rounds_concern_nodes(s->extender_rounds, queued->pod))
            strbuf_add_text(out, ", if the extenders agree");
    } else {
        const struct diagnosis *d = node_finder_diagnosis(s->node_finder);
        unsigned n = find_nearest(d, nearest);

        diagnosis_format(d, s->reasons, out);
        for (unsigned i = 0; i < n; i++)
            explain_node(queued->profile, &c, nearest[i], out);
    }
    cycle_fini(&c);
}

int
scheduler_explain(struct scheduler *s,
                  const char *namespace,
                  const char *name,
                  struct strbuf *out)
{
    const struct queued_pod *queued = queue_find(s->queue, namespace, name);

    if (queued == NULL)
        return -ENOENT;
    if (queued->state == QUEUE_GATED && queued->gate_reason != STRING_ID_NONE)
        strbuf_add_text(out, string_ids_text(s->reasons, queued->gate_reason));
    else
        explain_now(s, queued, out);
    return 0;
}
