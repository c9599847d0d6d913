/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.h - whether this node can start pods at all
 *
 * Looks at what each start needs: the state, run and TMPDIR directories, file
 * descriptors, the cgroup of all jobs, the shepherd. Before the node is Ready,
 * from time to time, and at once when a pod could not be started. A check that
 * does not come back has failed, too: a file system hangs. So has a node where
 * several starts in a row failed for no reason that is seen here: for a while,
 * then it is tried again. The check mends what it can: it makes the cgroup of
 * all jobs anew.
 *
 * Owns:    the timers.
 * Thread:  the loop's; the looking is done on a worker.
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
    struct cgroot *cgroups; /* NULL: none are used */
    struct cgpool *pool;
    /* The first result is there, or another one than before. */
    void (*changed)(void *context);
    void *context;
};

/* Life. Looks from the start on. */
void self_check_free(struct self_check *c);
struct self_check *self_check_new(const struct self_check_settings *settings)
    OWNED_BY(self_check_free);
DEFINE_CLEANUP(struct self_check, self_check_free)
void self_check_start(struct self_check *c);

/* A pod was started here, or could not be for no fault of its own: what. */
void self_check_note_start(struct self_check *c, const char *failure);

/* The fault, as a condition's reason and a sentence that says what to do,
 * borrowed until the next change; false when nothing is.
 */
bool self_check_has_failed(const struct self_check *c,
                           const char **ret_reason,
                           const char **ret_words);
