/* SPDX-License-Identifier: Apache-2.0 */
/* local_query.h - the fields of a client_request as the query that a URL would
 * have
 *
 * Thread:  any; one at a time.
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

/* Starts with the parameters of `text`, or with none (NULL). There is room for eight more. */
void local_query_start(struct local_query *query, struct arena *arena, const char *text);

/* Adds nothing when the value is NULL. */
void local_query_add(struct local_query *query, const char *name, const char *value);
