/* SPDX-License-Identifier: Apache-2.0 */
/* partition_choice.h - chooses, of several partitions that a job names, the one
 * that its pod runs in
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct binding;
struct json;
struct object;
struct request;

/* Writes the chosen partition into the spec of a Job's pod that is bound to the
 * node (partition_find_start, by what was allocated), and that the pod has the node
 * for itself if that partition says so. The Job keeps its list for its next start. A pod without a Job keeps its list, too, because
 * its user may apply its manifest again.
 */
void partition_choice_write(struct request *q, const struct object *pod, struct json *spec,
                            const struct binding *binding);

/* Whether partition_choice_write may change the pod. */
bool partition_choice_is_open(const struct object *pod);
