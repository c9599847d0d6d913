/* SPDX-License-Identifier: Apache-2.0 */
/* cordon.h - a node that takes no new jobs
 *
 * Made in kctl_cordon.c; kctl drain begins with it.
 */
#pragma once

#include <stdbool.h>

struct error;
struct kctl;
struct target_object;

#define CORDON_REASON "kiln.hpc/drain-reason"

/* Sets it and says so; `reason` may be NULL. */
int cordon_set(struct kctl *kctl,
               const struct target_object *node,
               bool cordoned,
               const char *reason,
               struct error *err);
