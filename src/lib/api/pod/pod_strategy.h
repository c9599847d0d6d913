/* SPDX-License-Identifier: Apache-2.0 */
/* pod_strategy.h - the functions of struct kind for pods, and for objects that
 * contain pods
 *
 * Called by:  pod.c and the kinds with pod templates.
 * Thread:     any.
 */
#pragma once

struct arena;
struct causes;
struct json;
struct object;

void pod_set_defaults(struct arena *arena, struct json *pod);
void pod_prepare(struct arena *arena, struct json *pod, const struct json *old);
void pod_prepare_status(struct arena *arena, struct json *pod, const struct json *old);
void pod_validate(struct causes *c, const struct json *pod, const struct json *old);
void pod_validate_status(struct causes *c, const struct json *pod, const struct json *old);
void pod_check_status(struct causes *c, const struct json *pod, const struct json *old);
struct json *pod_part_of_spec(struct arena *arena, const struct object *object);

void pod_warn_of(struct causes *c, const struct json *pod, const struct json *old);

void pod_redact(struct arena *arena, struct json *pod);
void pod_template_redact(struct arena *arena, struct json *template);

void pod_spec_drop_disabled(struct arena *arena, struct json *spec, const struct json *old);
