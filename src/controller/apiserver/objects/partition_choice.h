/* SPDX-License-Identifier: Apache-2.0 */
/* partition_choice.h - of several partitions that a job names, the one that it got
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct object;
struct request;

/* Writes into the spec of a Job's pod which is bound to that node the first
 * of its partitions that has the node and is up. The Job keeps its list, for
 * the next start; so does a pod of no Job, whose manifest its user may apply
 * again.
 */
void partition_choice_write(struct request *q,
                            const struct object *pod,
                            struct json *spec,
                            const char *node_name);

/* Whether the pod is one that this may write to. */
bool partition_choice_is_open(const struct request *q,
                              const struct object *pod);
