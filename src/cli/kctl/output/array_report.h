/* SPDX-License-Identifier: Apache-2.0 */
/* array_report.h - how the tasks of an array get on: how many wait, run and have
 * ended, and which have failed, by how
 *
 * Thread: the main one.
 */
#pragma once

struct json;
struct kctl;
struct strbuf;

/* Lines for a Job's tree with spec.array. Failures are asked of history, which
 * may be silent.
 */
void
array_report_add(struct kctl *kctl, const struct json *job, struct strbuf *out);
