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
struct person;

struct shepherd {
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
    int64_t began_us; /* monotonic, when the program did */
};

/* How the pod ends that cannot be started, at which step; answers `code`. */
int shepherd_fail(struct shepherd *s,
                  const char *step,
                  int code,
                  char *message TAKES);

/* All steps up to the fork. */
int preparation_make(struct shepherd *s);

/* The job, until its program runs. */
int birth_give(struct shepherd *s);
