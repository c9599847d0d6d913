/* SPDX-License-Identifier: Apache-2.0 */
/* node_request.h - a job of several nodes: -N and --per-node
 *
 * Such a job is an Indexed Job whose pods are placed together, each on its own
 * node. The script runs on the first of them, and with --per-node on all.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;
struct submission;

bool node_request_is_several(const struct submission *submission);

/* After all options are read. Amounts that are given for all nodes become those
 * of one node. Refuses what jobs of several nodes do not have.
 */
int node_request_settle(struct submission *submission, struct error *err);

/* Makes the Job one of several nodes, if it is. */
int node_request_add(struct arena *arena, const struct submission *submission, struct json *spec,
                     struct error *err);
