/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - a scheduling plugin: the extension points that it implements
 *
 * The names and meanings of kube-scheduler's extension points. A plugin is one
 * constant struct; a profile makes an instance of it from its arguments, and
 * `self` is what make() returned. Points that it does not implement are NULL.
 * Filter and score get nodes in batches; a plugin that handles one node at a
 * time sets filter_one or score_one instead.
 *
 * Thread: the scheduler's. No function may block; one that needs time answers
 *         VERDICT_WAIT and calls back through its handle.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/verdict.h"

struct assignment;
struct diagnosis;
struct error;
struct handle;
struct json;
struct bounds;
struct node_set;
struct node_view;
struct object;
struct pod_view;
struct queued_pod;
struct record;
struct strbuf;

#define SCORE_MAX     100
#define SCORE_NOWHERE (-1)

/* The extension points; point_name gives the name in a configuration. */
enum point {
    POINT_PRE_ENQUEUE,
    POINT_QUEUE_SORT,
    POINT_PREFILTER,
    POINT_FILTER,
    POINT_POSTFILTER,
    POINT_PRESCORE,
    POINT_SCORE,
    POINT_RESERVE,
    POINT_PERMIT,
    POINT_PREBIND,
    POINT_BIND,
    POINT_POSTBIND,
};
#define POINTS 12

/* How raw scores become 0 to 100. BY_MOST divides by the largest score of all
 * nodes; REVERSED does the same and subtracts the result from 100. CUSTOM is
 * the plugin's own function, which needs all raw scores at once.
 */
enum normalization {
    NORMALIZE_NOT,
    NORMALIZE_BY_MOST,
    NORMALIZE_REVERSED,
    NORMALIZE_CUSTOM,
};

/* An event that may help a pod that the plugin rejected. Hint: whether this
 * particular change does (the old object is NULL when it was added, the new one
 * when it was deleted); NULL: always. A plugin that waits for new nodes must
 * also register for taints (WAKE_NEW_NODES), because a node may join with a
 * taint that is removed once the node is ready.
 */
typedef bool wake_hint_fn(void *self, const struct pod_view *pod, const struct object *old_object,
                          const struct object *new_object);
struct wake {
    enum event_resource resource;
    unsigned actions;
    wake_hint_fn *hint;
};
#define WAKE_NEW_NODES                             \
    {                                              \
        EVENT_NODE, ACTION_UPDATE_NODE_TAINT, NULL \
    }

/* PreFilter may restrict the search to the named nodes. The names are borrowed
 * from the pod.
 */
struct prefilter_result {
    bool has_names;
    const char **names; /* the caller frees the array */
    unsigned count;
};

struct plugin {
    const char *name;

    /* The fields of its arguments, and JSON of their defaults. NULL: it takes
     * no arguments.
     */
    const struct record *args;
    const char *default_args;

    /* Life of an instance. `args` are the plugin's arguments in the
     * configuration, already checked against the field table, or NULL; make
     * refuses any other error in them. Make may be NULL when the plugin keeps
     * no state.
     */
    int (*make)(struct handle *handle, const struct json *args, void **ret_self, struct error *err);
    void (*drop)(void *self);

    /* Queue. `is_ranked`: pods are sorted by their ranks (queued_pod.h). */
    bool is_ranked;
    bool (*less)(void *self, const struct queued_pod *a, const struct queued_pod *b);
    enum verdict (*pre_enqueue)(void *self, const struct pod_view *pod, uint32_t *ret_reason);
    const struct wake *wakes;
    unsigned n_wakes;

    /* Appends everything in the pod that its filter and score depend on, so
     * that equal pods share results; false: this pod shares none. NULL: they do
     * not depend on the pod.
     */
    bool (*sign)(void *self, const struct pod_view *pod, struct strbuf *out);

    /* Appends what its prefilter depends on in the pod beyond `sign`. PreFilter
     * runs for every pod, so no kept result depends on this, but unschedulable
     * pods that are treated as one group must agree in it.
     */
    bool (*sign_prefilter)(void *self, const struct pod_view *pod, struct strbuf *out);

    /* Appends what its hints depend on in the pod, so that an event runs the
     * hint once for equal unschedulable pods; false: the hint runs for this pod
     * by itself. NULL: they depend on what `sign` appends; without `sign`, on
     * nothing in the pod, but if the plugin depends on others, this is unknown
     * and the hint runs for each pod.
     */
    bool (*sign_hints)(void *self, const struct pod_view *pod, struct strbuf *out);

    /* Finding a node. `depends_on_others`: its answer for a node also depends
     * on pods of other nodes, so it is not kept between cycles.
     */
    bool depends_on_others;

    /* `depends_on_time`: its filter depends on the clock and on reserved room.
     * It runs only for nodes whose ledger has future entries, and its answers
     * are never kept. Its signature is used for no result, only to group
     * unschedulable pods. `filters_room`: its filter depends on what is free on
     * the node and reads no notes of prefilter, so it can also be run on a
     * future state of a node.
     */
    bool depends_on_time;
    bool filters_room;
    enum verdict (*prefilter)(void *self, struct cycle *c, struct prefilter_result *ret_result,
                              uint32_t *ret_reason);
    void (*add_pod)(void *self, struct cycle *c, const struct pod_view *other,
                    struct node_view *node);
    void (*remove_pod)(void *self, struct cycle *c, const struct pod_view *other,
                       const struct node_view *node);
    void (*filter)(void *self, const struct cycle *c, const struct node_view *const *nodes,
                   unsigned count, struct answer *answers);
    enum verdict (*filter_one)(void *self, const struct cycle *c, const struct node_view *node,
                               uint32_t *ret_reason);

    /* For a plugin that depends on time: the nodes that its filter would reject
     * with VERDICT_NEVER, so that the filter need not run for each. The set is
     * borrowed until the next change; NULL: no node. False: the filter must
     * run.
     */
    bool (*rejected_nodes)(void *self, const struct cycle *c, const struct node_set **ret_nodes,
                           uint32_t *ret_reason);
    /* WAIT: the pod is tried again when the result is there. */
    enum verdict (*postfilter)(void *self, struct cycle *c, const struct diagnosis *diagnosis,
                               const char **ret_nominated_node, struct strbuf *message);

    /* Choosing a node. Score and normalize get the nodes that prescore got, in
     * the same order, except for plugins whose answers are kept between cycles.
     */
    enum verdict (*prescore)(void *self, struct cycle *c, const struct node_view *const *nodes,
                             unsigned count);
    void (*score)(void *self, const struct cycle *c, const struct node_view *const *nodes,
                  unsigned count, int64_t *scores);
    int64_t (*score_one)(void *self, const struct cycle *c, const struct node_view *node);
    /* An upper bound of its raw score on any node within these bounds, and
     * never less than a node's score (a test checks this). SCORE_NOWHERE: its
     * filter rejects all such nodes. NULL: SCORE_MAX.
     */
    int64_t (*best_score)(void *self, const struct cycle *c, const struct bounds *bounds);
    enum normalization normalization;
    void (*normalize)(void *self, const struct cycle *c, const struct node_view *const *nodes,
                      unsigned count, int64_t *scores);

    /* Reserving the node. Unreserve undoes reserve and is also called when
     * reserve did not run; node NULL: the node was deleted meanwhile.
     */
    enum verdict (*reserve)(void *self, struct cycle *c, const struct node_view *node,
                            uint32_t *ret_reason);
    void (*unreserve)(void *self, struct cycle *c, const struct node_view *node);
    enum verdict (*permit)(void *self, struct cycle *c, const struct node_view *node,
                           int64_t *ret_timeout_us, uint32_t *ret_reason);

    /* Binding, in the background, while other pods are scheduled. */
    enum verdict (*prebind)(void *self, struct assignment *a, uint32_t *ret_reason);
    enum verdict (*bind)(void *self, struct assignment *a, uint32_t *ret_reason);
    void (*postbind)(void *self, struct assignment *a);

    /* Bind calls handle->bind and answers WAIT, or answers SKIP. Such a plugin
     * can bind a group, because handle->bind sends one request once it was
     * called for every member.
     */
    bool binds_groups;

    /* Text for people: what this pod lacks on this node ("has 4 CPUs free, at
     * most 2 in one NUMA node"), or nothing; with node NULL, what the pod
     * needs.
     */
    void (*explain)(void *self, const struct cycle *c, const struct node_view *node,
                    struct strbuf *out);
};

/* The name in a configuration ("preFilter"), and in a metric ("PreFilter"). */
const char *point_name(enum point point);
const char *point_label(enum point point);

bool plugin_has_point(const struct plugin *plugin, enum point point);
