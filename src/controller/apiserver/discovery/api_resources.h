/* SPDX-License-Identifier: Apache-2.0 */
/* api_resources.h - what the API offers, in the order that clients are told of
 * it
 *
 * Groups, the kinds of each, their subresources: from the registry of kinds
 * and the table of routes. Pure.
 *
 * Called by:  the files of discovery and openapi.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/request/routes.h"

struct kind;

/* Names, NULL-terminated; "" (core) is the first. */
extern const char *const api_resources_groups[];

#define API_RESOURCES_MAX_KINDS 32

/* The kinds of a group, by name; answered ones too. `upstream_alone`: those of
 * kube-apiserver itself, which measures nothing. Returns how many.
 */
unsigned
api_resources_kinds(const char *group,
                    bool upstream_alone,
                    const struct kind *ret_kinds[API_RESOURCES_MAX_KINDS]);

/* The subresources of a kind, by name; `upstream_alone`: without Kiln's own.
 * Returns how many.
 */
unsigned api_resources_parts(const struct kind *kind,
                             bool upstream_alone,
                             enum subresource ret_parts[N_SUBRESOURCES]);

/* "Binding", "Eviction", "Pod": what the subresource takes and gives. */
const char *api_resources_part_kind(const struct kind *kind,
                                    enum subresource part);

/* In order of their names: "create", "delete", ... */
extern const enum verb api_resources_verb_order[N_VERBS];
