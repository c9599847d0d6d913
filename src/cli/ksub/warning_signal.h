/* SPDX-License-Identifier: Apache-2.0 */
/* warning_signal.h - parses --signal: "[B:]SIGNAL[@SECONDS]", the name or
 * number of the signal, and the seconds before the time limit (60 s)
 *
 * Thread: any.
 */
#pragma once

struct error;
struct submission_signal;

/* -EINVAL */
int warning_signal_parse(const char *text, struct submission_signal *ret_signal, struct error *err);
