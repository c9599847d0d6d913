/* SPDX-License-Identifier: Apache-2.0 */
/* job_elements.h - elements of one array as people write them: "1042_7",
 * "1042_[3-9]", "1042_[1-100:2]"
 *
 * The numbers after the underscore are task ids, never indexes.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/value/task_list.h"

struct job_elements {
    int64_t job; /* id of the job, above 0 */
    struct task_list tasks;
};

/* Whether a text denotes elements: it begins with a number and an underscore,
 * which no name does.
 */
bool job_elements_looks_like(const char *text);

/* -EINVAL with the reason. Does not check that the array has these tasks. */
int job_elements_parse(struct arena *arena, const char *text, struct job_elements *ret_elements,
                       struct error *err);

/* "1042_7", or several tasks in brackets; "1042_[]" without tasks. */
void job_elements_format(const struct job_elements *elements, struct strbuf *out);
