/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - the plugins that schedule pods of one schedulerName, and the
 * one place that runs them
 *
 * Owns:       its instances of the plugins.
 * Thread:     the scheduler's.
 * Invariant:  plugins run in the order they were given, at every point, but
 *             where the settings order a point otherwise.
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

/* The plugins that run at a point, by their place in the profile, in the order
 * they run in.
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
    plugin_set filters; /* those that filter here */
    plugin_set scores;
    plugin_set others; /* those that depend on pods of other nodes */
    plugin_set timed;  /* those that depend on time */
    plugin_set prefilter_signers;
    plugin_set rooms; /* those that filter by what is free on a node */
    bool others_filter_last;

    /* How often each was asked at a point: of a pod, or of one of its nodes. */
    uint64_t (*evaluations)[PROFILE_MAX_PLUGINS];

    /* The queue's: how many waiting pods each has rejected; and whether it
     * ever did.
     */
    uint32_t rejected[PROFILE_MAX_PLUGINS];
    bool has_rejected[PROFILE_MAX_PLUGINS];
};

/* Life. Fails when a plugin refuses its arguments (named in `err`), or is to
 * filter or score without the point that prepares it.
 */
void profile_free(struct profile *p);
int profile_new(const struct profile_settings *settings,
                struct profile **ret_profile,
                struct error *err);
DEFINE_CLEANUP(struct profile, profile_free)

/* Walks the entries of a point: `at` is the plugin's bit. */
#define profile_foreach(at, p, point)                         \
    for (unsigned at##_turn = 0, at;                          \
         at##_turn < (p)->orders[point].count                 \
         && (at = (p)->orders[point].items[at##_turn], true); \
         at##_turn++)

/* The bit of the plugin of that name, or PLUGIN_NONE. */
unsigned profile_find(const struct profile *p, const char *plugin_name);

/* Queue points */
bool profile_less(const struct profile *p,
                  const struct queued_pod *a,
                  const struct queued_pod *b);
bool profile_is_ranked(const struct profile *p);
struct answer profile_pre_enqueue(const struct profile *p,
                                  const struct pod_view *pod);

/* The pod's signature, SIGNATURE_NONE when it has none: computed once. */
uint32_t profile_sign(const struct profile *p,
                      struct pod_view *pod,
                      struct string_ids *signatures);

/* The pod's signature with what depends on time in it, what prefilters go by, and
 * its rank (0: none): of pods that sleep together.
 */
uint32_t profile_sign_timed(const struct profile *p,
                            const struct pod_view *pod,
                            uint32_t signature,
                            uint32_t rank,
                            struct string_ids *signatures);

/* A number for all that the hints of those plugins depend on in the pod, or
 * SIGNATURE_NONE.
 */
uint32_t profile_sign_hints(const struct profile *p,
                            const struct pod_view *pod,
                            plugin_set rejectors,
                            struct string_ids *signatures);

/* Finding. Prefilter: OK, or the first answer that is not; the prefilter result
 * is the common part of all, and names the plugins that made it.
 */
struct answer profile_prefilter(const struct profile *p,
                                struct cycle *c,
                                struct prefilter_result *ret_result,
                                plugin_set *ret_narrowers);
void profile_add_pod(const struct profile *p,
                     struct cycle *c,
                     const struct pod_view *other,
                     struct node_view *node);
void profile_remove_pod(const struct profile *p,
                        struct cycle *c,
                        const struct pod_view *other,
                        const struct node_view *node);

/* For each node OK, or the answer of the first plugin (of the set) that
 * rejects it.
 */
void profile_filter(const struct profile *p,
                    plugin_set among,
                    const struct cycle *c,
                    const struct node_view *const *nodes,
                    unsigned count,
                    struct answer *answers);

/* One node with the nominated pods of equal or higher priority on it, then
 * without them: it must pass both. They are added within a journal, so that the
 * node is as it was afterwards.
 */
struct answer profile_filter_nominated(const struct profile *p,
                                       const struct cycle *c,
                                       struct node_view *node);
bool profile_has_nominated(const struct cycle *c, const struct node_view *node);
enum verdict profile_postfilter(const struct profile *p,
                                struct cycle *c,
                                const struct diagnosis *diagnosis,
                                const char **ret_nominated_node,
                                struct strbuf *message);

/* Choosing. Prescore (of these plugins) marks who has nothing to say. Score:
 * the raw scores of one plugin; normalize makes them 0 to 100.
 */
void profile_prescore(const struct profile *p,
                      plugin_set among,
                      struct cycle *c,
                      const struct node_view *const *nodes,
                      unsigned count);
void profile_score(const struct profile *p,
                   unsigned plugin,
                   const struct cycle *c,
                   const struct node_view *const *nodes,
                   unsigned count,
                   int64_t *scores);
void profile_normalize(const struct profile *p,
                       unsigned plugin,
                       const struct cycle *c,
                       const struct node_view *const *nodes,
                       unsigned count,
                       int64_t *scores);

/* One score on the scale of upstream's DefaultNormalizeScore. */
int64_t normalize_one(int64_t score, int64_t most, bool reversed);

/* Keeping. Unreserve goes the other way round. */
struct answer profile_reserve(const struct profile *p,
                              struct cycle *c,
                              const struct node_view *node);
void profile_unreserve(const struct profile *p,
                       struct cycle *c,
                       const struct node_view *node);
