/* SPDX-License-Identifier: Apache-2.0 */
/* interpod_affinity.h - private parts of InterPodAffinity, shared by its own
 * files
 *
 * Called by:  interpod_affinity.c (arguments, domain counts, the plugin),
 *             interpod_filter.c, interpod_score.c, interpod_hint.c. Nobody
 *             else.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/pods/affinity_term.h"
#include "controller/scheduler/plugins/pods/domain_counts.h"

struct interpod {
    struct handle *handle;
    int64_t hard_weight;
    bool ignores_existing;
    /* Terms of existing pods see only pods of the same owner */
    bool repels_owner;
    uint32_t no_affinity, anti_affinity, existing_anti_affinity;
    struct domain_counts_cache *domain_counts;
};

/* The purposes of columns of domain counts. A column counts by one label. */
enum interpod_purpose {
    MATCHING,    /* pods that match all affinity terms */
    UNWANTED,    /* pods that match an anti-affinity term */
    UNWELCOMING, /* anti-affinity terms of others against this pod */
    SCORE,
};

/* The domain counts for all pods with the same labels and terms. `what`: 'F'
 * for filter, 'S' for score.
 */
struct domain_counts *interpod_domain_counts(const struct interpod *me, const struct pod_view *pod,
                                             char what);

/* Whether terms of the existing pod `there` can apply to `pod` at all. */
bool interpod_concerns(const struct interpod *me, const struct pod_view *there,
                       const struct pod_view *pod);

/* The node that is being counted, and where. */
struct counted_node {
    struct domain_counts *domain_counts;
    const struct node_view *node;
};

/* The points */
enum verdict interpod_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                                uint32_t *ret_reason);
void interpod_add_pod(void *self, struct cycle *c, const struct pod_view *other,
                      struct node_view *node);
void interpod_remove_pod(void *self, struct cycle *c, const struct pod_view *other,
                         const struct node_view *node);
void interpod_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                     unsigned count, struct answer *answers);
enum verdict interpod_prescore(void *self, struct cycle *c, const struct node_view *const *nodes,
                               unsigned count);
void interpod_score(void *self, const struct cycle *c, const struct node_view *const *nodes,
                    unsigned count, int64_t *scores);
void interpod_normalize(void *self, const struct cycle *c, const struct node_view *const *nodes,
                        unsigned count, int64_t *scores);

bool interpod_sign_hints(void *self, const struct pod_view *pod, struct strbuf *out);

#define INTERPOD_WAKES 4
extern const struct wake interpod_wakes[INTERPOD_WAKES];
