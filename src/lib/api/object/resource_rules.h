/* SPDX-License-Identifier: Apache-2.0 */
/* resource_rules.h - validation that lists of resources share, in containers,
 * nodes, volumes and quotas
 *
 * Thread:  any.
 * Source:  k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#pragma once

struct arena;
struct causes;
struct json;

/* Checks limits and requests below `name`. */
void resources_check(struct causes *c, const struct json *object, const char *name);

/* Rounds the amounts of the list below `name` up to thousandths. */
void resource_list_set_defaults(struct arena *arena, struct json *object, const char *name);

/* Warns of an amount of bytes that is not a whole number. */
void byte_fraction_warn(struct causes *c, const struct json *object, const char *name);
