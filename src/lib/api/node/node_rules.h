/* SPDX-License-Identifier: Apache-2.0 */
/* node_rules.h - the functions of struct kind for nodes; called by node.c
 *
 * Thread:  any.
 */
#pragma once

struct arena;
struct causes;
struct json;

void node_set_defaults(struct arena *arena, struct json *node);
void node_prepare(struct arena *arena, struct json *node, const struct json *old);
void node_validate(struct causes *c, const struct json *node, const struct json *old);
