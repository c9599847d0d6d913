/* SPDX-License-Identifier: Apache-2.0 */
/* spread_rule.h - one topology spread constraint of a pod, prepared for
 * counting
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, plugins/podtopologyspread/common.go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/record.h"

struct arena;
struct handle;
struct label_selector;
struct node_view;
struct pod_view;
struct strbuf;
struct topology_spread;

struct spread_rule {
    const char *topology_key;
    int64_t max_skew;
    int64_t min_domains;
    /* Nodes that the pod's node affinity excludes do not count */
    bool honors_affinity;
    bool honors_taints;
    bool is_hostname;

    /* A pod counts if it matches all of these. */
    const struct label_selector *selector; /* NULL: matches nothing by itself */
    /* matchLabelKeys with the pod's own values; owned */
    struct string_map same;
    const struct label_selector *owner; /* of the pod's owner, or NULL */
    /* Bits that every matching pod has (selector.h) */
    uint64_t label_bits;
};

#define SPREAD_RULES 16

struct spread_rules {
    struct spread_rule items[SPREAD_RULES];
    unsigned count;
    bool is_cut;         /* there are more than these */
    struct arena *arena; /* of `owner` in the rules; or NULL */
};

/* Makes the rules from the pod's own constraints with that whenUnsatisfiable,
 * or from the default constraints when it has none; those select what the pod's
 * services and owner select. Fini frees them.
 */
struct spread_defaults {
    const struct topology_spread *items;
    unsigned count;
};
void spread_rules_init(struct spread_rules *rules, const struct handle *handle,
                       const struct pod_view *pod, const struct spread_defaults *defaults,
                       const char *when_unsatisfiable);
void spread_rules_fini(struct spread_rules *rules);

bool spread_rule_selects(const struct spread_rule *rule, const struct string_map *labels);

/* The number of pods on the node that the rule selects, without terminating
 * ones.
 */
int64_t spread_rule_count(const struct spread_rule *rule, const struct node_view *node,
                          const char *namespace);

/* Whether the node counts at all for this pod. */
bool spread_rule_includes(const struct spread_rule *rule, const struct pod_view *pod,
                          const struct node_view *node);

/* Appends text that is equal for rules that count the same pods. Only for rules
 * from the pod's own constraints.
 */
void spread_rules_sign(const struct spread_rules *rules, const struct pod_view *pod,
                       struct strbuf *out);

/* Whether the labels contain the topology keys of all rules. */
bool spread_rules_cover(const struct spread_rules *rules, const struct string_map *labels);
