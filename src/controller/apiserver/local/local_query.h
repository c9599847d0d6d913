/* SPDX-License-Identifier: Apache-2.0 */
/* local_query.h - the query that the fields of a request would be in a URL
 *
 * Thread: any; one at a time.
 */
#pragma once

#include <stddef.h>

struct arena;
struct parameter;

struct local_query {
    struct arena *arena;
    struct parameter *items; /* in the arena */
    size_t count;
};

/* With the parameters of a text, or none (NULL); room for eight more. */
void local_query_start(struct local_query *query,
                       struct arena *arena,
                       const char *text);

/* A value of NULL adds nothing. */
void
local_query_add(struct local_query *query, const char *name, const char *value);
