/* SPDX-License-Identifier: Apache-2.0 */
/* topology_spread.h - private parts of PodTopologySpread, shared by its own
 * files
 *
 * Called by:  topology_spread.c (arguments, the plugin), spread_counts.c,
 *             spread_filter.c, spread_score.c, spread_hint.c. Nobody else.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/pods/domain_counts.h"
#include "controller/scheduler/plugins/pods/spread_rule.h"

#define MUST_SPREAD "DoNotSchedule"
#define MAY_SPREAD  "ScheduleAnyway"

struct spread {
    struct handle *handle;
    struct arena *arena;
    struct spread_defaults defaults;
    bool is_system; /* defaultingType: System */
    uint32_t no_label, uneven, too_many;
    struct domain_counts_cache *domain_counts;
};

/* The counts of the pods that the rules select, kept up to date between cycles.
 * NULL for rules from default constraints, which depend on services and owners.
 */
struct domain_counts *spread_domain_counts(const struct spread *me, const struct cycle *c,
                                           const struct spread_rules *rules, bool is_for_score);

/* The points */
enum verdict spread_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                              uint32_t *ret_reason);
void spread_add_pod(void *self, struct cycle *c, const struct pod_view *other,
                    struct node_view *node);
void spread_remove_pod(void *self, struct cycle *c, const struct pod_view *other,
                       const struct node_view *node);
void spread_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                   unsigned count, struct answer *answers);
enum verdict spread_prescore(void *self, struct cycle *c, const struct node_view *const *nodes,
                             unsigned count);
void spread_score(void *self, const struct cycle *c, const struct node_view *const *nodes,
                  unsigned count, int64_t *scores);
void spread_normalize(void *self, const struct cycle *c, const struct node_view *const *nodes,
                      unsigned count, int64_t *scores);

bool spread_sign_hints(void *self, const struct pod_view *pod, struct strbuf *out);

#define SPREAD_WAKES 3
extern const struct wake spread_wakes[SPREAD_WAKES];
