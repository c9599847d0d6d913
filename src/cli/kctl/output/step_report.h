/* SPDX-License-Identifier: Apache-2.0 */
/* step_report.h - a step of a job on one screen, and how it ended
 *
 * Thread: any; steps are trees as returned by /kiln/v1/steps.
 */
#pragma once

struct arena;
struct json;
struct strbuf;

/* Adds all that is known of the step, as kctl show prints it. */
void step_report_add(struct arena *arena, const struct json *step, struct strbuf *out);

/* "Step 17.0 (sleep): Cancelled by ann on n1, after 0:12", as kctl why prints it. */
void step_report_add_end(struct arena *arena, const struct json *step, struct strbuf *out);
