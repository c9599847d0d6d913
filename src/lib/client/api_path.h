/* SPDX-License-Identifier: Apache-2.0 */
/* api_path.h - the path and query of an API request
 *
 * Pure text. Every value from outside is escaped.
 *
 * Thread:  any.
 */
#pragma once

struct client_request;
struct client_watch_request;
struct strbuf;

/* "/apis/batch/v1/namespaces/physics/jobs/job-7/status?dryRun=All" */
void api_path_of_request(const struct client_request *request, struct strbuf *out);
void api_path_of_watch(const struct client_watch_request *request, struct strbuf *out);
