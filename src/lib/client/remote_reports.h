/* SPDX-License-Identifier: Apache-2.0 */
/* remote_reports.h - reports of pods of a remote client, many in a request
 *
 * One request with reports is under way at a time. Reports that come meanwhile
 * go with the next: alone as a patch, or together as POST /kiln/v1/podreports.
 * So a client with little to say says it at once, and one with much to say
 * waits for no more than one answer. A server that has no such path gets them
 * one by one, as many at a time as there are.
 *
 * Called by:  remote.c, and nobody else.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client_reply;
struct client_request;
struct http_client;
struct http_response;
struct error;
struct remote_report;
struct remote_reports;

/* The answer of one report, as of a client_call; the report is gone then. */
typedef void remote_report_done_fn(const struct client_reply *reply,
                                   void *context);

/* Life. Free forgets the reports, whose `done` never run. */
void remote_reports_free(struct remote_reports *r);
struct remote_reports *remote_reports_new(struct http_client *http)
    OWNED_BY(remote_reports_free);

/* The report is the reports' until its `done` has run, or it is cancelled. */
struct remote_report *remote_reports_send(struct remote_reports *r,
                                          const struct client_request *request,
                                          remote_report_done_fn *done,
                                          void *context);
void remote_report_cancel(struct remote_report *report);

/* Whether it was not sent yet. */
bool remote_report_waits(const struct remote_report *report);
