/* SPDX-License-Identifier: Apache-2.0 */
/* field_query.h - the string of `fieldSelector=`: parsed once, matched often
 *
 * Thread:  any; a query is not changed after it was parsed.
 * Source:  k8s.io/apimachinery/pkg/fields.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct field_query;
struct kind;
struct object;

/* -EINVAL with upstream's error text. The query is allocated in the arena. */
int field_query_parse(struct arena *arena, const struct kind *kind, const char *text,
                      struct field_query **ret_query, struct error *err);
bool field_query_matches(const struct field_query *query, const struct object *object);

/* The value that the query requires of the field by "=", or NULL; an index can
 * then answer.
 */
const char *field_query_demands(const struct field_query *query, const char *path);
