/* SPDX-License-Identifier: Apache-2.0 */
/* start_error.h - why a job could not be started, and what to do about it
 *
 * Thread: the shepherd's only one.
 */
#pragma once

struct become_user_report;
struct prepared_job;

/* Returns a message that the caller frees: "opening '/home/u/out': permission
 * denied as uid 1000; ...".
 */
char *start_error_dup(const struct prepared_job *job, const struct become_user_report *report);
