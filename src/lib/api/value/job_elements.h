/* SPDX-License-Identifier: Apache-2.0 */
/* job_elements.h - elements of one array as people write them: "1042_7",
 * "1042_[3-9]", "1042_[1-100:2]"
 *
 * The numbers behind the underscore are tasks' ids, never indexes.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/value/task_list.h"

struct job_elements {
    int64_t job; /* its id, above 0 */
    struct task_list tasks;
};

/* Whether a text means elements: a number and an underscore, as no name is. */
bool job_elements_looks_like(const char *text);

/* -EINVAL with words. It does not ask which lists the array has. */
int job_elements_parse(struct arena *arena,
                       const char *text,
                       struct job_elements *ret_elements,
                       struct error *err);

/* "1042_7", or with brackets; "1042_[]" of no tasks. */
void job_elements_format(const struct job_elements *elements,
                         struct strbuf *out);
