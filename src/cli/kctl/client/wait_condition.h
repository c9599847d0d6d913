/* SPDX-License-Identifier: Apache-2.0 */
/* wait_condition.h - waits until an object meets a condition
 *
 * Watches the object and continues across restarts of the controller.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;
struct kctl;
struct target_object;

/* Called with each state of the object; NULL when it does not exist. */
typedef bool wait_condition_fn(const struct json *object, void *context);

/* 0 when `is_met` returns true; -ETIMEDOUT after timeout_us, unless that is 0.
 */
int wait_for_condition(struct kctl *kctl, const struct target_object *object, int64_t timeout_us,
                       wait_condition_fn *is_met, void *context, struct error *err);
int wait_for_deletion(struct kctl *kctl, const struct target_object *object, int64_t timeout_us,
                      struct error *err);
