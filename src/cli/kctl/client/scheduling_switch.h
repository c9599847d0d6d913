/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling_switch.h - pauses and resumes scheduling, for all jobs
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct error;
struct kctl;

/* Connects, sends the request and prints what is so now. */
int scheduling_switch(struct kctl *kctl, bool pauses, struct error *err);
