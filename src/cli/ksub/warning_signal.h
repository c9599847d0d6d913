/* SPDX-License-Identifier: Apache-2.0 */
/* warning_signal.h - what --signal says: "[B:]SIGNAL[@SECONDS]", the signal by
 * its name or number, so long before the time limit (60 s)
 */
#pragma once

struct error;
struct submission_signal;

/* -EINVAL */
int warning_signal_parse(const char *text,
                         struct submission_signal *ret_signal,
                         struct error *err);
