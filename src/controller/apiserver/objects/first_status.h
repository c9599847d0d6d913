/* SPDX-License-Identifier: Apache-2.0 */
/* first_status.h - the status of a Job that is created held, written in the
 * transaction that creates it
 *
 * It is what the job controller would write first, so the controller has
 * nothing to add. A Job whose status has more to it (an array, dependencies)
 * gets none, and neither does a Job of another controller.
 *
 * Thread:  the loop's.
 */
#pragma once

struct arena;
struct json;

/* The Job is admitted and prepared, and has its creationTimestamp. */
void first_status_set(struct arena *arena, struct json *job);
