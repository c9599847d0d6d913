/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - the plugins that schedule pods of one schedulerName, and the code
 * that runs them
 *
 * Owns:       its instances of the plugins.
 * Thread:     the scheduler's.
 * Invariant:  at every point, plugins run in the order in which they were
 *             given, unless the settings give that point another order.
 *
 * Source: kube-scheduler, framework/runtime.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/plugin.h"
#include "lib/base/macro.h"

struct error;
struct json;

#define PROFILE_MAX_PLUGINS 32

struct profile_plugin {
    const struct plugin *plugin;
    int64_t weight;          /* of its score; 0: 1 */
    const struct json *args; /* or NULL */
};

/* The plugins that run at a point, as indexes into the profile, in the order in
 * which they run.
 */
struct point_order {
    uint8_t items[PROFILE_MAX_PLUGINS];
    unsigned count;
};

struct profile_settings {
    const char *scheduler_name;
    const struct profile_plugin *plugins;
    unsigned n_plugins;
    const struct point_order *orders; /* by point; NULL: all, as given */
    unsigned percentage_of_nodes;     /* to score; 0: adaptive, 100: all */
    struct handle *handle;
};

struct profile_entry {
    const struct plugin *plugin;
    void *self;
    int64_t weight;
};

struct profile {
    char *scheduler_name;
    unsigned percentage_of_nodes;
    struct handle *handle;
    struct profile_entry entries[PROFILE_MAX_PLUGINS];
    unsigned n_entries;
    struct point_order orders[POINTS];
    plugin_set filters; /* plugins that filter in this profile */
    plugin_set scores;
    plugin_set others; /* plugins that depend on pods of other nodes */
    plugin_set timed;  /* plugins that depend on time */
    plugin_set prefilter_signers;
    plugin_set rooms; /* plugins that filter by what is free */
    bool others_filter_last;

    /* How often each plugin ran at each point: for a pod, or for a node. */
    uint64_t (*evaluations)[PROFILE_MAX_PLUGINS];

    /* The queue keeps this: how many waiting pods each plugin rejects now, and whether it ever
     * rejected one.
     */
    uint32_t rejected[PROFILE_MAX_PLUGINS];
    bool has_rejected[PROFILE_MAX_PLUGINS];
};

/* Life. Fails when a plugin refuses its arguments (named in `err`), or when
 * filter or score is enabled for a plugin without the point that prepares it.
 */
void profile_free(struct profile *p);
int profile_new(const struct profile_settings *settings, struct profile **ret_profile,
                struct error *err);
DEFINE_CLEANUP(struct profile, profile_free)

/* Iterates over the plugins of a point: `at` is the plugin's index, its bit in
 * sets.
 */
#define profile_foreach(at, p, point)                                                              \
    for (unsigned at##_turn = 0, at;                                                               \
         at##_turn < (p)->orders[point].count && (at = (p)->orders[point].items[at##_turn], true); \
         at##_turn++)

/* The index of the plugin of that name, or PLUGIN_NONE. */
unsigned profile_find(const struct profile *p, const char *plugin_name);

/* Queue points */
bool profile_less(const struct profile *p, const struct queued_pod *a, const struct queued_pod *b);
bool profile_is_ranked(const struct profile *p);
struct answer profile_pre_enqueue(const struct profile *p, const struct pod_view *pod);

/* The pod's signature, computed once; SIGNATURE_NONE: it cannot share results.
 */
uint32_t profile_sign(const struct profile *p, struct pod_view *pod, struct string_ids *signatures);

/* The signature by which unschedulable pods are grouped: the pod's signature,
 * plus what time-dependent plugins and prefilters depend on, plus its rank (0:
 * none). Admission: a number for what the prefilters depend on.
 */
uint32_t profile_sign_timed(const struct profile *p, const struct pod_view *pod, uint32_t signature,
                            uint32_t rank, struct string_ids *signatures, uint32_t *ret_admission);

/* A number for everything in the pod that the hints of those plugins depend on,
 * or SIGNATURE_NONE.
 */
uint32_t profile_sign_hints(const struct profile *p, const struct pod_view *pod,
                            plugin_set rejectors, struct string_ids *signatures);

/* Finding a node. Prefilter returns OK, or the first answer that is not OK. The
 * result has the nodes that all plugins named; `ret_narrowers` are the plugins
 * that named any.
 */
struct answer profile_prefilter(const struct profile *p, struct cycle *c,
                                struct prefilter_result *ret_result, plugin_set *ret_narrowers);
void profile_add_pod(const struct profile *p, struct cycle *c, const struct pod_view *other,
                     struct node_view *node);
void profile_remove_pod(const struct profile *p, struct cycle *c, const struct pod_view *other,
                        const struct node_view *node);

/* Answers OK for a node, or the answer of the first plugin of the set that
 * rejects it.
 */
void profile_filter(const struct profile *p, plugin_set among, const struct cycle *c,
                    const struct node_view *const *nodes, unsigned count, struct answer *answers);

/* Filters one node with the nominated pods of equal or higher priority on it,
 * then without them: it must pass both. The pods are added within a journal, so
 * the node is unchanged afterwards.
 */
struct answer profile_filter_nominated(const struct profile *p, const struct cycle *c,
                                       struct node_view *node);
bool profile_has_nominated(const struct cycle *c, const struct node_view *node);
enum verdict profile_postfilter(const struct profile *p, struct cycle *c,
                                const struct diagnosis *diagnosis, const char **ret_nominated_node,
                                struct strbuf *message);

/* Choosing a node. Prescore runs the plugins of the set and marks those that
 * answer SKIP. Score gives the raw scores of one plugin; normalize turns them
 * into 0 to 100.
 */
void profile_prescore(const struct profile *p, plugin_set among, struct cycle *c,
                      const struct node_view *const *nodes, unsigned count);
void profile_score(const struct profile *p, unsigned plugin, const struct cycle *c,
                   const struct node_view *const *nodes, unsigned count, int64_t *scores);
void profile_normalize(const struct profile *p, unsigned plugin, const struct cycle *c,
                       const struct node_view *const *nodes, unsigned count, int64_t *scores);

/* Normalizes one score as upstream's DefaultNormalizeScore does. */
int64_t profile_normalize_one(int64_t score, int64_t most, bool reversed);

/* Reserving the node. Unreserve runs in the reverse order. */
struct answer profile_reserve(const struct profile *p, struct cycle *c,
                              const struct node_view *node);
void profile_unreserve(const struct profile *p, struct cycle *c, const struct node_view *node);
