/* SPDX-License-Identifier: Apache-2.0 */
/* cordon.h - marks a node so that it takes no new jobs
 *
 * kctl_cordon.c defines it; kctl drain calls it first.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct error;
struct kctl;
struct target_object;

#define CORDON_REASON      "kiln.hpc/drain-reason"
#define CORDON_MAINTENANCE "kiln.hpc/maintenance" /* the Reservation of it */

/* Sets it and says so; `reason` may be NULL. */
int cordon_set(struct kctl *kctl,
               const struct target_object *node,
               bool cordoned,
               const char *reason,
               struct error *err);
