/* SPDX-License-Identifier: Apache-2.0 */
/* filename_pattern.h - expands %j %x %u %N %% in file names, as users of batch
 * systems write them
 *
 * %j is the job's number (the pod's name if it has none), %x the job's name, %u
 * the user, %N the node, %% a percent sign. A number after the percent sign
 * pads %j with zeros: "%6j". Everything else is copied. A slash in a value
 * becomes an underscore, so that a job's name cannot lead to another directory.
 *
 * Thread: any; pure.
 */
#pragma once

struct strbuf;

struct filename_pattern_values {
    const char *job_id;
    const char *job_name;
    const char *user;
    const char *node;
};

void filename_pattern_expand(const char *pattern, const struct filename_pattern_values *values,
                             struct strbuf *out);
