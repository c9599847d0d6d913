/* SPDX-License-Identifier: Apache-2.0 */
/* history_pages.h - reads the history of jobs page by page
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;
struct kctl;
struct strbuf;

/* Adds "&NAME=VALUE" to a query, percent-encoded; nothing for NULL. */
void history_query_add(struct strbuf *query, const char *name, const char *value);
void history_query_add_time(struct strbuf *query, const char *name, int64_t us);

/* "1041", or tasks of an array: "1041_7", "1041_[3-9]"; -EINVAL for other
 * texts.
 */
int history_query_add_job(struct strbuf *query, const char *job, struct error *err);

/* Visits each row, oldest end first; a page without rows is not the end.
 * `visit` returns false to stop. The row is borrowed for the call.
 */
typedef bool history_row_fn(const struct json *row, void *context);
int history_pages_visit(struct kctl *kctl, const char *query, history_row_fn *visit, void *context,
                        struct error *err);

/* Likewise for a query of that job. A row is written a moment after the end of the
 * job, so if the job has just ended and has no row, this waits for it, at most a
 * second; for jobs that are gone, three tries in all.
 */
int history_pages_visit_job(struct kctl *kctl, int64_t id, const char *query, history_row_fn *visit,
                            void *context, struct error *err);
