/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_state.h - which state jobs are in
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STATE_UNKNOWN_JOB = -1 };

/* How many ids a program gets at once: a list of them is one argument. */
enum { STATE_CHUNK = 500 };

/* N or N_TASK: all that this library gives as an id. Others could be read as options. */
bool state_is_id(const char *id);

/* The states DRMAA_PS_... of the jobs ids[0] to ids[count - 1]; STATE_UNKNOWN_JOB if nothing is
 * known of a job. A DRMAA code. */
int state_find(const char *const *ids, size_t count, int *ret_states, char *diagnosis, size_t size);

bool state_has_ended(int state);
