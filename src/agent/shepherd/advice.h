/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h - why a job could not be started, and what to do about it */
#pragma once

struct ladder_report;
struct outfit;

/* Owned by the caller: "opening '/home/u/out': permission denied as uid 1000;
 * ...".
 */
char *advice_dup(const struct outfit *t, const struct ladder_report *report);
