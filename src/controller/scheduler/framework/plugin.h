/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - a scheduling policy: the points of the pipeline it takes part in
 *
 * The names and meanings of kube-scheduler's extension points. A plugin is one
 * constant struct; a profile makes an instance of it from its arguments, and
 * `self` is what its make() returned. Points it has nothing for are NULL.
 * Filter and score get nodes by the batch; a plugin that looks at one node at
 * a time fills filter_one or score_one instead.
 *
 * Thread: the scheduler's. None may block; what takes time answers
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

/* The points of the pipeline, as a configuration names them. */
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

/* How raw scores become 0 to 100. BY_MOST scales to the largest of all nodes;
 * REVERSED does and turns round. CUSTOM is the plugin's own and needs all raw
 * scores at once.
 */
enum normalization {
    NORMALIZE_NOT,
    NORMALIZE_BY_MOST,
    NORMALIZE_REVERSED,
    NORMALIZE_CUSTOM,
};

/* An event that may help what the plugin rejected. Hint: whether this one does
 * (old or new is NULL when it came or went); NULL: always. A plugin that waits
 * for new nodes must also wait for taints (WAKE_NEW_NODES): a node may join
 * with one that is taken off once it is ready.
 */
typedef bool wake_hint_fn(void *self,
                          const struct pod_view *pod,
                          const struct object *old_object,
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

/* Prefilter may name the only nodes that need to be looked at. The names are
 * borrowed from the pod.
 */
struct prefilter_result {
    bool has_names;
    const char **names; /* freed by the caller */
    unsigned count;
};

struct plugin {
    const char *name;

    /* The fields of its arguments, and JSON of their defaults. NULL: it takes
     * none.
     */
    const struct record *args;
    const char *default_args;

    /* Life of an instance. Args: the plugin's own from the configuration,
     * checked by their table, or NULL; what else is wrong with them make
     * refuses. Make may be NULL when there is nothing to keep.
     */
    int (*make)(struct handle *handle,
                const struct json *args,
                void **ret_self,
                struct error *err);
    void (*drop)(void *self);

    /* Queue. `is_ranked`: the order goes by the pods' ranks (queued_pod.h). */
    bool is_ranked;
    bool (*less)(void *self,
                 const struct queued_pod *a,
                 const struct queued_pod *b);
    enum verdict (*pre_enqueue)(void *self,
                                const struct pod_view *pod,
                                uint32_t *ret_reason);
    const struct wake *wakes;
    unsigned n_wakes;

    /* Appends what its filter and score depend on in the pod, so that equal
     * pods share results; false: this pod cannot. NULL: on nothing.
     */
    bool (*sign)(void *self, const struct pod_view *pod, struct strbuf *out);

    /* Appends what its prefilter depends on beside that, which is of no kept
     * result: each pod is asked. But a pod that sleeps speaks for its like.
     */
    bool (*sign_prefilter)(void *self,
                           const struct pod_view *pod,
                           struct strbuf *out);

    /* Appends what its hints depend on in the pod, so that an event asks once
     * for equal pods that sleep; false: this pod is asked itself. NULL: on what
     * `sign` says, or of a plugin that depends on others, unknown.
     */
    bool (*sign_hints)(void *self,
                       const struct pod_view *pod,
                       struct strbuf *out);

    /* Finding a node. `depends_on_others`: its answers on one node depend on
     * pods of other nodes too, so they are not kept between cycles.
     */
    bool depends_on_others;

    /* `depends_on_time`: its filter goes by the time and by what is reserved.
     * It is asked of nodes with a reserved entry alone and its answers are
     * never kept. Its signature is for no result, only for pods that sleep
     * together. `filters_room`: its filter goes by what is free on the node,
     * and reads no notes of prefilter; so it can be asked about the future.
     */
    bool depends_on_time;
    bool filters_room;
    enum verdict (*prefilter)(void *self,
                              struct cycle *c,
                              struct prefilter_result *ret_result,
                              uint32_t *ret_reason);
    void (*add_pod)(void *self,
                    struct cycle *c,
                    const struct pod_view *other,
                    struct node_view *node);
    void (*remove_pod)(void *self,
                       struct cycle *c,
                       const struct pod_view *other,
                       const struct node_view *node);
    void (*filter)(void *self,
                   const struct cycle *c,
                   const struct node_view *const *nodes,
                   unsigned count,
                   struct answer *answers);
    enum verdict (*filter_one)(void *self,
                               const struct cycle *c,
                               const struct node_view *node,
                               uint32_t *ret_reason);

    /* Of one that depends on time: the nodes that its filter would reject with
     * VERDICT_NEVER, so that they need not be asked one by one. The set is
     * borrowed until something changes, NULL: none. False: they must be asked.
     */
    bool (*rejected_nodes)(void *self,
                           const struct cycle *c,
                           const struct node_set **ret_nodes,
                           uint32_t *ret_reason);
    /* WAIT: the pod is tried again when what it waits for is there. */
    enum verdict (*postfilter)(void *self,
                               struct cycle *c,
                               const struct diagnosis *diagnosis,
                               const char **ret_nominated_node,
                               struct strbuf *message);

    /* Choosing one. Score and normalize are given the nodes that prescore was
     * given, in the same order, but for plugins whose answers are kept.
     */
    enum verdict (*prescore)(void *self,
                             struct cycle *c,
                             const struct node_view *const *nodes,
                             unsigned count);
    void (*score)(void *self,
                  const struct cycle *c,
                  const struct node_view *const *nodes,
                  unsigned count,
                  int64_t *scores);
    int64_t (*score_one)(void *self,
                         const struct cycle *c,
                         const struct node_view *node);
    /* The most that its score could be, before it is normalized, on any node
     * within these bounds; SCORE_NOWHERE: its filter lets none of them pass.
     * Never less than it is (tested). NULL: SCORE_MAX.
     */
    int64_t (*best_score)(void *self,
                          const struct cycle *c,
                          const struct bounds *bounds);
    enum normalization normalization;
    void (*normalize)(void *self,
                      const struct cycle *c,
                      const struct node_view *const *nodes,
                      unsigned count,
                      int64_t *scores);

    /* Keeping it. Unreserve undoes reserve, also one that was never made;
     * node NULL: it is gone meanwhile.
     */
    enum verdict (*reserve)(void *self,
                            struct cycle *c,
                            const struct node_view *node,
                            uint32_t *ret_reason);
    void (*unreserve)(void *self,
                      struct cycle *c,
                      const struct node_view *node);
    enum verdict (*permit)(void *self,
                           struct cycle *c,
                           const struct node_view *node,
                           int64_t *ret_timeout_us,
                           uint32_t *ret_reason);

    /* In the background, while other pods are scheduled. */
    enum verdict (*prebind)(void *self,
                            struct assignment *a,
                            uint32_t *ret_reason);
    enum verdict (*bind)(void *self,
                         struct assignment *a,
                         uint32_t *ret_reason);
    void (*postbind)(void *self, struct assignment *a);

    /* Bind answers WAIT after handle->bind, or SKIP: so it binds groups, which
     * that function does at once when it was called for every member.
     */
    bool binds_groups;

    /* For people: what this pod lacks on this node ("has 4 CPUs free, at most 2
     * in one NUMA node"), or nothing; without a node, what it needs.
     */
    void (*explain)(void *self,
                    const struct cycle *c,
                    const struct node_view *node,
                    struct strbuf *out);
};

/* "preFilter", as a configuration names it; "PreFilter", as a metric does. */
const char *point_name(enum point point);
const char *point_label(enum point point);

/* Whether it has anything for that point. */
bool plugin_has_point(const struct plugin *plugin, enum point point);
