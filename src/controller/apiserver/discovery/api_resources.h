/* SPDX-License-Identifier: Apache-2.0 */
/* api_resources.h - what the API offers, in the order in which discovery lists
 * it
 *
 * Groups, the kinds of each, and their subresources, from the registry of kinds
 * and the table of routes. No side effects.
 *
 * Called by:  the files of discovery and openapi.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/request/routes.h"

struct api_profile;
struct kind;

/* Names, NULL-terminated; the first is "" (core). */
extern const char *const api_resources_groups[];

#define API_RESOURCES_MAX_KINDS    32
#define API_RESOURCES_MAX_VERSIONS 4

/* One kind of each version of a group, the preferred version first.
 * A profile without additions, here and below: only kinds of kube-apiserver
 * itself, without metrics. Returns the number of versions; 0: there is no such group.
 */
unsigned api_resources_versions(const char *group, const struct api_profile *profile,
                                const struct kind *ret_kinds[API_RESOURCES_MAX_VERSIONS]);

/* The kinds of a version of a group, by name, including those without stored
 * objects. Returns the number of kinds.
 */
unsigned api_resources_kinds(const char *group, const char *version,
                             const struct api_profile *profile,
                             const struct kind *ret_kinds[API_RESOURCES_MAX_KINDS]);

/* The subresources of a kind, by name; a profile without additions: without Kiln's own.
 * Returns the number of subresources.
 */
unsigned api_resources_parts(const struct kind *kind, const struct api_profile *profile,
                             enum subresource ret_parts[N_SUBRESOURCES]);

/* The kind that a subresource takes and returns, such as "Binding", "Eviction",
 * "Pod".
 */
const char *api_resources_part_kind(const struct kind *kind, enum subresource part);

/* Sorted by name: "create", "delete", ... */
extern const enum verb api_resources_verb_order[N_VERBS];
