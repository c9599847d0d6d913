/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_session.h - the one session of a process, and the jobs that it submitted
 *
 * Thread: any; a lock guards all of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct drmaa_words;

/* 0 while a session is active, or DRMAA_ERRNO_NO_ACTIVE_SESSION. */
int session_check(char *diagnosis, size_t size);

/* The contact that the session was begun with, to be freed; NULL: the configured server. */
char *session_server(void);

void session_add(const char *id);

/* The jobs that nobody has waited for with success. */
void session_open_jobs(struct drmaa_words *ret_ids);

/* The id is kept as waited for, whether the session submitted the job or not. False if it was
 * waited for before. */
bool session_reap(const char *id);
bool session_is_reaped(const char *id);
