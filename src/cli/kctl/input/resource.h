/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - turns the operands of a verb into objects: "pods", "pod a b",
 * "job/7", "nodes,pods", "1042"
 *
 * A number where a job is expected is the job's id, independent of the job's
 * name and namespace; lists and ranges of ids are accepted wherever one is
 * ("5,6", "10-20", see job_operands.h), as are host lists where a node is
 * ("n[1-4],n9", see hostlist.h). Where kctl accepts tasks, "1042_7" is the
 * newest pod of that task of an array, or the job if the task has no pod.
 *
 * Thread: the main one.
 */
#pragma once

#include <stddef.h>

#include "cli/kctl/client/kctl.h"

struct named_resources {
    struct target_object *items; /* in the arena */
    size_t count;
};

/* The kind with this name or short name; NULL, with the nearest name in `err`.
 */
const struct kind *resource_kind(const char *name, struct error *err);

/* Parses operands. Without a default kind the first one is "TYPE" or each is
 * "TYPE/NAME"; with one, plain names are of that kind. -EINVAL when there is no
 * operand at all.
 */
int resource_parse(struct kctl *kctl, const struct kind *default_kind, int n_operands,
                   char **operands, struct arena *arena, struct named_resources *ret_resources,
                   struct error *err);

/* Parses operands for a verb that needs exactly one object. */
int resource_parse_one(struct kctl *kctl, const struct kind *default_kind, int n_operands,
                       char **operands, struct arena *arena, struct target_object *ret_object,
                       struct error *err);

/* The names of nodes: "n1", "node/n1" or "n[1-4]"; none if there are no operands.
 */
int resource_parse_nodes(struct kctl *kctl, int n_operands, char **operands, struct arena *arena,
                         const char ***ret_names, size_t *ret_count, struct error *err);

/* Like resource_parse, but a collection (no name) is replaced by the objects in
 * it that match the selector.
 */
int resource_select(struct kctl *kctl, const struct kind *default_kind, int n_operands,
                    char **operands, const char *label_selector, bool all, struct arena *arena,
                    struct named_resources *ret_resources, struct error *err);
