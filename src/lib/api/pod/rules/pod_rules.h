/* SPDX-License-Identifier: Apache-2.0 */
/* pod_rules.h - what is right in the parts of a pod
 *
 * Each looks at the part given, where the walk of the causes stands at it,
 * and adds what is wrong. Defaults have been filled in before.
 *
 * Called by:  the rules of the kinds that hold pods, and each other.
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

/* A whole spec; `hostNetwork` and the like stand in it. */
void pod_spec_check(struct causes *c, const struct json *spec);
/* Checks the rules that hold for pods and not for templates: ports of the
 * host's network have a number, tokens an account.
 */
void pod_only_check(struct causes *c, const struct json *spec);

/* The template below `name`. */
void pod_template_check(struct causes *c,
                        const struct json *owner,
                        const char *name);

/* Checks the changes from an old spec to a new one. */
void pod_changes_check(struct causes *c,
                       const struct json *spec,
                       const struct json *old);

/* Lists of the spec, which is given for what they depend on. */
void pod_containers_check(struct causes *c, const struct json *spec);
void pod_volumes_check(struct causes *c, const struct json *spec);

/* The volumes by name, for container_mounts_check. */
struct map *pod_volumes_map(const struct json *spec);

/* One that has no fault, or NULL. */
const struct json *pod_volumes_find(const struct map *volumes,
                                    const char *name);

/* One container's parts. */
void container_env_check(struct causes *c, const struct json *container);
void container_mounts_check(struct causes *c,
                            const struct map *volumes,
                            const struct json *container);
void lifecycle_check(struct causes *c,
                     const struct json *container,
                     int64_t grace_seconds);
void probes_check(struct causes *c,
                  const struct json *container,
                  int64_t grace_seconds);
void container_security_check(struct causes *c, const struct json *container);

/* References that volumes and variables share. */
enum field_reference_use {
    FIELD_REFERENCE_IN_ENV,
    FIELD_REFERENCE_IN_VOLUME,
};
void field_reference_check(struct causes *c,
                           const struct json *reference,
                           enum field_reference_use use);
void resource_reference_check(struct causes *c,
                              const struct json *reference,
                              enum field_reference_use use);

void pod_security_check(struct causes *c, const struct json *spec);
void pod_os_check(struct causes *c, const struct json *spec);
void windows_options_check(struct causes *c, const struct json *options);

/* Annotations that mean something for pods, where the walk stands at the
 * metadata; and what an update of a pod may not do to them.
 */
void pod_annotations_check(struct causes *c,
                           const struct json *meta,
                           const struct json *spec);
void pod_annotation_changes_check(struct causes *c,
                                  const struct json *meta,
                                  const struct json *old);
/* Annotations and fields say the same. The walk stands at the spec. */
void pod_annotations_match(struct causes *c, const struct json *pod);
/* Fields and annotations of AppArmor profiles, each from the other. */
void pod_annotations_join(struct arena *arena, struct json *pod);
void pod_annotations_warn(struct causes *c, const struct json *pod);
void affinity_check(struct causes *c, const struct json *affinity);
void tolerations_check(struct causes *c, const struct json *spec);
/* The list of that name. */
void topology_spread_check(struct causes *c,
                           const struct json *object,
                           const char *name);
void pod_kiln_check(struct causes *c, const struct json *spec);

/* Warns of what is accepted and hardly meant; the walk stands at the object
 * that has metadata and a spec.
 */
void pod_warn(struct causes *c, const struct json *pod);

/* Fills in what upstream's defaulting does: of any pod spec, and what only
 * pods themselves get.
 */
void pod_spec_set_defaults(struct arena *arena, struct json *spec);
void pod_only_set_defaults(struct arena *arena, struct json *spec);
