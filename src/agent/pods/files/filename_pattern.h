/* SPDX-License-Identifier: Apache-2.0 */
/* filename_pattern.h - file names with %j %x %u %N %% in them, as users of
 * batch systems write them
 *
 * %j the job's number (the pod's name without one), %x the job's name, %u the
 * user, %N the node, %% a percent sign. A number after the percent pads %j with
 * zeros: "%6j". Anything else stays as it is. A slash in a value becomes an
 * underscore: a job's name cannot lead elsewhere.
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

void filename_pattern_expand(const char *pattern,
                             const struct filename_pattern_values *values,
                             struct strbuf *out);
