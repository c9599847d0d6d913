/* SPDX-License-Identifier: Apache-2.0 */
/* node_reports.h - after a start, what the nodes know of this cluster
 *
 * The store may be older than the cluster. Its nodes know that: their marks say
 * how far revisions and job ids had come. So no job id is issued until the nodes
 * that were Ready have reported, and meanwhile agents end no pod that is missing
 * here, and no pod is bound, since it may run on a node already. After an
 * ordinary restart this takes a moment: if what one node knows is the store's own
 * past, the others are waited for only shortly, and not at all if the last
 * controller ended in good order. Without such a node it takes `wait_ms` at most.
 * Nodes of ordinary users are neither waited for nor believed here.
 *
 * Owns:    the list of what waits.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct apiserver;
struct node_reports;
struct request;

enum node_report {
    NODE_REPORT_LAST_RUN, /* it knows the opening of the store before this one, or this one */
    NODE_REPORT_EARLIER,  /* an earlier one, or nothing */
    NODE_REPORT_OTHER,    /* revisions that the store lacks */
};

/* Life. Stop ends the waiting, without permission. */
void node_reports_free(struct node_reports *reports);
struct node_reports *node_reports_new(struct apiserver *server, int64_t wait_ms)
    OWNED_BY(node_reports_free);
void node_reports_stop(struct node_reports *reports);

/* Note: what the store needs to continue above the node's mark was done;
 * is_whole: the node has said all that it knows, otherwise it will ask again.
 * Wait: calls `next` now, or when no report is awaited anymore; without
 * permission when the server stops, too much waits, or `most_s` (0: no limit) is
 * over. node_reports_refuse then makes the reply.
 */
void node_reports_note(struct node_reports *reports, const char *node, enum node_report report,
                       bool is_whole);
typedef void node_reports_next_fn(bool may_issue, void *context);
void node_reports_wait(struct node_reports *reports, int64_t most_s, node_reports_next_fn *next,
                       void *context);
void node_reports_refuse(struct request *q);

bool node_reports_are_awaited(const struct node_reports *reports);
