/* SPDX-License-Identifier: Apache-2.0 */
/* first_status.h - the status of a Job that is held from the first, written in
 * the transaction that creates it
 *
 * It has what the job controller would write at its first look, so that the
 * controller finds nothing to add. A Job whose status has more to it (an array,
 * dependencies) gets none, and so does one of another controller.
 *
 * Thread: the loop's.
 */
#pragma once

struct arena;
struct json;

/* The Job is admitted and prepared, with its creationTimestamp. */
void first_status_set(struct arena *arena, struct json *job);
