/* SPDX-License-Identifier: Apache-2.0 */
/* extender_wire.h - the requests to extenders and their answers, as JSON
 *
 * Requests use upstream's member names. In answers, member names match in any
 * mix of cases, as in Go's decoder. A member that an answer lacks has its zero
 * value.
 *
 * Thread: any; pure functions.
 * Source: k8s.io/kube-scheduler, extender/v1/types.go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct json;
struct object;
struct pod_view;
struct proposal;
struct strbuf;

/* Encode ExtenderArgs (for filter and prioritize), ExtenderPreemptionArgs and
 * ExtenderBindingArgs. `names_only`: names (or uids) instead of objects, for an
 * extender that caches nodes.
 */
void extender_args_encode(const struct pod_view *pod, const struct object *const *nodes,
                          unsigned count, bool names_only, struct strbuf *out);
void extender_preemption_encode(const struct pod_view *pod, const struct proposal *proposals,
                                unsigned count, bool names_only, struct strbuf *out);
void extender_binding_encode(const struct pod_view *pod, const char *node_name, struct strbuf *out);

/* ExtenderFilterResult: the names of the nodes that pass, and objects that map
 * the name of each other node to its reason, or NULL. `names_only`: the request
 * had only names.
 */
struct extender_filtering {
    const char **names;
    unsigned count;
    const struct json *failed;
    const struct json *unresolvable;
};
int extender_filtering_decode(const char *text, size_t length, bool names_only, struct arena *arena,
                              struct extender_filtering *ret_filtering, struct error *err);

/* HostPriorityList */
struct extender_priority {
    const char *host;
    int64_t score;
};
int extender_priorities_decode(const char *text, size_t length, struct arena *arena,
                               struct extender_priority **ret_priorities, unsigned *ret_count,
                               struct error *err);

/* ExtenderPreemptionResult: for each node the uids of the victims. */
struct extender_victims {
    const char *node_name;
    const char **uids;
    unsigned count;
    unsigned violations;
};
int extender_victims_decode(const char *text, size_t length, struct arena *arena,
                            struct extender_victims **ret_victims, unsigned *ret_count,
                            struct error *err);

/* ExtenderBindingResult: 0, or its error in `err`. */
int extender_binding_decode(const char *text, size_t length, struct error *err);
