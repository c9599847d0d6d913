/* SPDX-License-Identifier: Apache-2.0 */
/* remote_reports.h - pod status reports of a remote client, several per request
 *
 * One request with reports is under way at a time, POST /kiln/v1/podreports.
 * Reports that arrive meanwhile go together in the next one. So a client with
 * few reports sends each at once, and one with many waits for at most one
 * answer. To a server without that path each report is sent as a patch of its
 * own, all at the same time.
 *
 * Called by:  only remote.c.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client_reply;
struct client_request;
struct http_client;
struct remote_report;
struct remote_reports;

/* The answer to one report, like that of a client_call; the report is freed
 * after it.
 */
typedef void remote_report_done_fn(const struct client_reply *reply, void *context);

/* Life. Free drops the reports without running their `done`. */
void remote_reports_free(struct remote_reports *r);
struct remote_reports *remote_reports_new(struct http_client *http) OWNED_BY(remote_reports_free);

/* The report belongs to `r` until its `done` has run or it is cancelled. */
struct remote_report *remote_reports_send(struct remote_reports *r,
                                          const struct client_request *request,
                                          remote_report_done_fn *done, void *context);
void remote_report_cancel(struct remote_report *report);

/* Whether the report was not sent yet. */
bool remote_report_waits(const struct remote_report *report);
