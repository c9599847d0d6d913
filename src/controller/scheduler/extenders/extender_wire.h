/* SPDX-License-Identifier: Apache-2.0 */
/* extender_wire.h - what extenders are asked and answer, as JSON
 *
 * Questions have upstream's names of members. Of answers, names are known in
 * any mix of cases, as Go's decoder takes them. A member that an answer lacks
 * has no value.
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

/* ExtenderArgs, to filter and to prioritize; names alone where it has a cache
 * of its own. ExtenderPreemptionArgs; ExtenderBindingArgs.
 */
void extender_args_encode(const struct pod_view *pod,
                          const struct object *const *nodes,
                          unsigned count,
                          bool names_only,
                          struct strbuf *out);
void extender_preemption_encode(const struct pod_view *pod,
                                const struct proposal *proposals,
                                unsigned count,
                                bool names_only,
                                struct strbuf *out);
void extender_binding_encode(const struct pod_view *pod,
                             const char *node_name,
                             struct strbuf *out);

/* ExtenderFilterResult: the nodes that pass by name, and why the others do
 * not: objects of names to words, or NULL. Names only: as it was asked.
 */
struct extender_filtering {
    const char **names;
    unsigned count;
    const struct json *failed;
    const struct json *unresolvable;
};
int extender_filtering_decode(const char *text,
                              size_t length,
                              bool names_only,
                              struct arena *arena,
                              struct extender_filtering *ret_filtering,
                              struct error *err);

/* HostPriorityList */
struct extender_priority {
    const char *host;
    int64_t score;
};
int extender_priorities_decode(const char *text,
                               size_t length,
                               struct arena *arena,
                               struct extender_priority **ret_priorities,
                               unsigned *ret_count,
                               struct error *err);

/* ExtenderPreemptionResult: for each node the uids of who is to leave. */
struct extender_victims {
    const char *node_name;
    const char **uids;
    unsigned count;
    unsigned violations;
};
int extender_victims_decode(const char *text,
                            size_t length,
                            struct arena *arena,
                            struct extender_victims **ret_victims,
                            unsigned *ret_count,
                            struct error *err);

/* ExtenderBindingResult: 0, or its words. */
int extender_binding_decode(const char *text, size_t length, struct error *err);
