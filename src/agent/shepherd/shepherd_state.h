/* SPDX-License-Identifier: Apache-2.0 */
/* shepherd_state.h - what the files of the program share
 *
 * shepherd.c claims the pod, keeps the vigil and records the end;
 * preparation.c takes the steps before there is a job, birth.c makes it.
 */
#pragma once

#include <stdint.h>

#include "agent/shepherd/ending.h"
#include "agent/shepherd/ladder.h"
#include "agent/shepherd/live.h"
#include "agent/shepherd/order.h"
#include "agent/shepherd/outfit.h"
#include "agent/shepherd/vigil.h"
#include "lib/base/macro.h"

struct cgroup;
struct error;
struct person;

/* What is the same for all of them, and found out once by a nurse. */
struct upbringing {
    char *boot_id;
    bool is_apart;    /* in a session without the agent */
    bool is_shielded; /* from the OOM killer */
};

struct shepherd {
    const struct upbringing *upbringing;
    struct order order;
    struct cgroup *own;
    struct cgroup *cgroup;
    struct person *person;
    struct outfit outfit;
    struct vigil vigil;
    struct live live;
    struct ending ending;
    struct ladder_report report;
    char *script;
    bool has_begun_hooks;
    int64_t began_us; /* monotonic, when the program did */
};

/* How the pod ends that cannot be started, at which step; answers `code`. */
int shepherd_fail(struct shepherd *s,
                  const char *step,
                  int code,
                  char *message TAKES);

/* All steps up to the fork. Shield: from the OOM killer, for oneself and what
 * one forks; false where that is not allowed.
 */
int preparation_make(struct shepherd *s);
bool preparation_shield(void);

/* What the site wants done, as which step: "prolog" or "epilog". Nothing where
 * it wants nothing.
 */
int preparation_hook(struct shepherd *s, const char *what, struct error *err);

/* The job, until its program runs. */
int birth_give(struct shepherd *s);
