/* SPDX-License-Identifier: Apache-2.0 */
/* array_request.h - a job array the way users write it: "0-99", "1-1000:7",
 * "3,5,9-12%4"
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct error;
struct json;
struct submission;

/* Replaces what was said before. */
int array_request_parse(const char *text,
                        struct submission *submission,
                        struct error *err);

/* Makes the spec of a Job that of an array, if one is asked for. -EINVAL:
 * something else is asked for that only an array has.
 */
int array_request_add(struct arena *arena,
                      const struct submission *submission,
                      struct json *spec,
                      struct error *err);
