/* SPDX-License-Identifier: Apache-2.0 */
/* until.h - wait for an object to become what one wants
 *
 * Follows the object by a watch, through restarts of the controller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;
struct kctl;
struct target_object;

/* Asked of each state of the object; NULL: it is not there. */
typedef bool until_fn(const struct json *object, void *context);

/* 0 when `is_met` says so; -ETIMEDOUT after timeout_us, if that is above 0. */
int until_met(struct kctl *kctl,
              const struct target_object *object,
              int64_t timeout_us,
              until_fn *is_met,
              void *context,
              struct error *err);
int until_gone(struct kctl *kctl,
               const struct target_object *object,
               int64_t timeout_us,
               struct error *err);
