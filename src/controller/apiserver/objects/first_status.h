/* SPDX-License-Identifier: Apache-2.0 */
/* first_status.h - the status of a Job that is held from the first, written in
 * the transaction that creates it
 *
 * It says what the job controller would write at its first look, and the
 * controller then finds nothing to add. Of a Job that has more to its status
 * (an array, dependencies) and of one that is another controller's it says
 * nothing.
 *
 * Thread: the loop's.
 */
#pragma once

struct arena;
struct json;

/* The Job is admitted and prepared, with its creationTimestamp. */
void first_status_set(struct arena *arena, struct json *job);
