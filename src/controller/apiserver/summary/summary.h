/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - /kiln/v1/nodes, /kiln/v1/status, /kiln/v1/whoami,
 * /kiln/v1/history, /kiln/v1/steps and /kiln/v1/timeline
 *
 * `kctl nodes`, `kctl status` and `kctl whoami` print these, one request each.
 * Every user may ask: the answers only have what the user may read of the
 * objects anyway.
 *
 * Thread:  the loop's; long answers are made in slices.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct node;
struct parameter;
struct request;

/* Returns false when the path is none of these. Otherwise the request will be
 * finished.
 */
bool summary_serve(struct request *q, const char *path);

/* History and the steps of jobs, whose question is in the query. Both finish the
 * request.
 */
bool summary_history_is_asked(const char *path);
void summary_history(struct request *q, const char *path, const struct parameter *parameters,
                     size_t count);

void summary_steps(struct request *q, const struct parameter *parameters, size_t count);

/* The timeline. The request will be finished. */
bool summary_timeline_is_asked(const char *path);
void summary_timeline(struct request *q, const struct parameter *parameters, size_t count);

/* nodes/NAME/steps, for verbs.c (step_reports.c). */
void verb_report_steps(struct request *q);

/* For the files of this room. Each finishes the request. summary_check returns
 * false, with the reply made, when the principal is not a person or the method
 * is not GET.
 */
bool summary_check(struct request *q);
void summary_nodes(struct request *q);
void summary_status(struct request *q);
void summary_whoami(struct request *q);

/* Describes a node as /kiln/v1/nodes does (summary_nodes.c). */
struct json *summary_describe_node(struct request *q, const struct node *node);
