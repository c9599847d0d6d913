/* SPDX-License-Identifier: Apache-2.0 */
/* cordon.h - makes a node accept no new jobs
 *
 * kctl_cordon.c defines it; kctl drain calls it first.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct kctl;
struct target_object;

#define CORDON_REASON      "kiln.hpc/drain-reason"
/* The annotation that names the Reservation of a planned maintenance. */
#define CORDON_MAINTENANCE "kiln.hpc/maintenance"

/* -ENOENT if one of several nodes does not exist, before any is changed. */
int cordon_check(struct kctl *kctl, const struct target_object *nodes, size_t count,
                 struct error *err);

/* Cordons or uncordons the node and prints the result; `reason` may be NULL. */
int cordon_set(struct kctl *kctl, const struct target_object *node, bool cordoned,
               const char *reason, struct error *err);
