/* SPDX-License-Identifier: Apache-2.0 */
/* node_constraints.h - the nodes that a job may run on: -p, -w, -x and -C
 *
 * doc/decisions.md says which labels stand for features.
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct error;
struct json;
struct submission;

/* Adds affinity to a pod's spec if the options need it; checks -p, whose names
 * are in the placement.
 */
int node_constraints_add(const struct submission *submission, struct arena *arena,
                         struct json *spec, struct error *err);
