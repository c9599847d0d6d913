/* SPDX-License-Identifier: Apache-2.0 */
/* array_report.h - the progress of an array: how many tasks wait, run and have
 * ended, and which have failed and how
 *
 * Thread: the main one.
 */
#pragma once

struct json;
struct kctl;
struct strbuf;

/* Adds lines for a Job's tree that has spec.array. Failures come from history,
 * which may have no rows.
 */
void array_report_add(struct kctl *kctl, const struct json *job, struct strbuf *out);
