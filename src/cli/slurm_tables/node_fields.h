/* SPDX-License-Identifier: Apache-2.0 */
/* node_fields.h - the fields of sinfo: all letters of -o and names of -O of
 * Slurm 22.05
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

#include "cli/slurm_tables/field_format.h"

struct arena;
struct json;
struct node_group;
struct strbuf;

extern const struct output_columns node_fields;

/* Whether nodes with different values of the field have lines of their own; exact: with -e. */
bool node_fields_separates(const struct output_column *column, bool is_exact);

/* Whether the field is read from the Node, which the summary of nodes lacks. */
bool node_fields_needs_object(const struct output_column *column);

/* The names of a Node's features, "a,b"; "(null)" for none. */
void node_fields_add_features(const struct json *node, struct strbuf *out);

/* A node as sinfo --json shows it; the group has only this node. */
struct json *node_fields_json(const struct node_group *group, struct arena *arena);
