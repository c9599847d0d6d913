/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.h - whether this node can start pods at all
 *
 * Checks what each start needs: the state, run and TMPDIR directories, file
 * descriptors, the cgroup of all jobs, the shepherd. The check runs before the
 * node is Ready, from time to time, and at once when a pod could not be
 * started. A check that does not return has failed, too, because a file system
 * hangs. A node also fails when several starts in a row failed although the
 * check finds no fault; after a while it tries again. The check repairs what it
 * can: it makes a missing cgroup of all jobs again.
 *
 * Owns:    the timers.
 * Thread:  the loop's; the checks run on a worker.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct cgpool;
struct cgroot;
struct loop;
struct self_check;
struct tmp_dirs;
struct workers;

struct self_check_settings {
    struct loop *loop;
    struct workers *workers;
    const char *state_dir;
    const char *run_dir;
    const char *shepherd;
    struct tmp_dirs *tmp_dirs;
    struct cgroot *cgroups; /* NULL: no cgroups are used */
    struct cgpool *pool;
    /* Called with the first result, and when the result changes. */
    void (*changed)(void *context);
    void *context;
};

/* Life. Checks begin with self_check_start. */
void self_check_free(struct self_check *c);
struct self_check *self_check_new(const struct self_check_settings *settings)
    OWNED_BY(self_check_free);
DEFINE_CLEANUP(struct self_check, self_check_free)
void self_check_start(struct self_check *c);

/* Notes that a pod was started here (`failure` is NULL), or why it could not be
 * started although the pod itself has no fault.
 */
void self_check_note_start(struct self_check *c, const char *failure);

/* Whether the node has failed. The fault is a condition's reason and a sentence
 * that says what to do, borrowed until the next change; both are NULL
 * otherwise.
 */
bool self_check_has_failed(const struct self_check *c, const char **ret_reason,
                           const char **ret_words);
