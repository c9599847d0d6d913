/* SPDX-License-Identifier: Apache-2.0 */
/* resource_rules.h - the rules that lists of resources share: of containers,
 * nodes, volumes and quotas
 *
 * Thread:  any.
 * Source:  k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#pragma once

struct arena;
struct causes;
struct json;

/* Limits and requests below `name`. */
void
resources_check(struct causes *c, const struct json *object, const char *name);

/* Rounds the amounts of the list below `name` up to thousandths. */
void resource_list_set_defaults(struct arena *arena,
                                struct json *object,
                                const char *name);

/* Warns of an amount of bytes that is not whole. */
void byte_fraction_warn(struct causes *c,
                        const struct json *object,
                        const char *name);
