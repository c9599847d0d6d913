/* SPDX-License-Identifier: Apache-2.0 */
/* array_request.h - parses a job array, as users write it: "0-99", "1-1000:7",
 * "3,5,9-12%4"
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;
struct submission;

/* Replaces an earlier value. The list may be in brackets, with blanks. In Slurm, "%0" is no limit. */
int array_request_parse(const char *text, bool is_slurms, struct submission *submission,
                        struct error *err);

/* Turns the spec of a Job into that of an array, if the submission has one.
 * -EINVAL: an option that needs an array was given without one.
 */
int array_request_add(struct arena *arena, const struct submission *submission, struct json *spec,
                      struct error *err);
