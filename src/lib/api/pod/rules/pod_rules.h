/* SPDX-License-Identifier: Apache-2.0 */
/* pod_rules.h - validation of the parts of a pod
 *
 * Each function checks the given part, at which the causes' path must point,
 * and adds its mistakes. Defaults must have been set before.
 *
 * Called by:  the rules of the kinds that contain pods, and each other.
 * Thread:     any.
 * Source:     k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct causes;
struct json;
struct map;

/* A whole spec, including hostNetwork and the like. */
void pod_spec_check(struct causes *c, const struct json *spec);
/* Checks the rules that apply to pods but not to templates: ports of a pod in
 * the host's network have a number, projected tokens need an account.
 */
void pod_only_check(struct causes *c, const struct json *spec);

/* The template in the member `name`. */
void pod_template_check(struct causes *c, const struct json *owner, const char *name);

/* Checks the changes from an old spec to a new one. */
void pod_changes_check(struct causes *c, const struct json *spec, const struct json *old);

/* Lists of the spec; the whole spec is given because the checks depend on it.
 */
void pod_containers_check(struct causes *c, const struct json *spec);
void pod_volumes_check(struct causes *c, const struct json *spec);

/* The volumes by name, for container_mounts_check. */
struct map *pod_volumes_map(const struct json *spec);

/* The volume of that name if it is valid, otherwise NULL. */
const struct json *pod_volumes_find(const struct map *volumes, const char *name);

/* Parts of one container. */
void container_env_check(struct causes *c, const struct json *container);
void container_mounts_check(struct causes *c, const struct map *volumes,
                            const struct json *container);
void lifecycle_check(struct causes *c, const struct json *container, int64_t grace_seconds);
void probes_check(struct causes *c, const struct json *container, int64_t grace_seconds);
void container_security_check(struct causes *c, const struct json *container);

/* References in volumes and in environment variables. */
enum field_reference_use {
    FIELD_REFERENCE_IN_ENV,
    FIELD_REFERENCE_IN_VOLUME,
};
void field_reference_check(struct causes *c, const struct json *reference,
                           enum field_reference_use use);
void resource_reference_check(struct causes *c, const struct json *reference,
                              enum field_reference_use use);

void pod_security_check(struct causes *c, const struct json *spec);
void pod_os_check(struct causes *c, const struct json *spec);
void windows_options_check(struct causes *c, const struct json *options);

/* Annotations with a meaning for pods, and the changes that an update may not
 * make to them; the causes' path must point at the metadata.
 */
void pod_annotations_check(struct causes *c, const struct json *meta, const struct json *spec);
void pod_annotation_changes_check(struct causes *c, const struct json *meta,
                                  const struct json *old);
/* Checks that annotations and fields agree; the path must point at the spec. */
void pod_annotations_match(struct causes *c, const struct json *pod);
/* Sets missing fields of AppArmor profiles from annotations, and the reverse.
 */
void pod_annotations_join(struct arena *arena, struct json *pod);
void pod_annotations_warn(struct causes *c, const struct json *pod);
void affinity_check(struct causes *c, const struct json *affinity);
void tolerations_check(struct causes *c, const struct json *spec);
/* The list in the member `name`. */
void topology_spread_check(struct causes *c, const struct json *object, const char *name);
void pod_kiln_check(struct causes *c, const struct json *spec);

/* Warns of valid values that are probably mistakes; the causes' path must point
 * at the object with metadata and spec.
 */
void pod_warn(struct causes *c, const struct json *pod);

/* Set the values that upstream's defaulting sets: in any pod spec, and only in
 * pods.
 */
void pod_spec_set_defaults(struct arena *arena, struct json *spec);
void pod_only_set_defaults(struct arena *arena, struct json *spec);
