/* SPDX-License-Identifier: Apache-2.0 */
/* shepherd_state.h - what the files of the program share
 *
 * shepherd.c claims the pod, supervises the job and records the end;
 * preparation.c takes the steps before there is a job, start.c makes it.
 *
 * Thread: the shepherd's first one. start.c has another for a moment, which waits
 * for the job to become its program.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

#include "agent/shepherd/become_user.h"
#include "agent/shepherd/exit_record.h"
#include "agent/shepherd/live_record.h"
#include "agent/shepherd/order.h"
#include "agent/shepherd/prepared_job.h"
#include "agent/shepherd/supervisor.h"
#include "lib/base/macro.h"

struct cgroup;
struct error;
struct launcher_thread;
struct user_account;

/* State that is the same for all shepherds, found out once by the fork server.
 */
struct inherited_state {
    char *boot_id;
    char *look_up_program; /* can ask the directory of users; NULL: this can */
    bool is_apart;         /* in a session without the agent */
    bool is_shielded;      /* from the OOM killer, or that is not allowed */
    bool is_detached;      /* from the agent's directory, input and output */
    bool may_share_memory; /* with the job until its program runs */
};

struct shepherd {
    const struct inherited_state *inherited_state;
    bool has_channel; /* to the agent (handover.h) */
    struct order order;
    struct cgroup *own;
    struct cgroup *cgroup;
    struct user_account *user;
    struct prepared_job prepared;
    struct launcher_thread *launcher_thread; /* while there is one */
    int step; /* that the job has come to, if it shares our memory */
    struct supervisor supervisor;
    struct live_record live;
    struct exit_record exit_record;
    struct become_user_report report;
    char *script;
    bool has_asked_site; /* its directory of users */
    bool has_begun_hooks;
    bool is_usage_cgroups; /* none of it is that of all children we ever had */
    int64_t began_us;      /* monotonic, when the program did */
    struct rusage before;  /* of the children before it: hooks */
};

/* How the pod ends that cannot be started, at which step; answers `code`. */
int shepherd_fail(struct shepherd *s,
                  const char *step,
                  int code,
                  char *message TAKES);

/* All steps up to the fork. Shield: from the OOM killer, for oneself and what
 * one forks; nothing where that is not allowed. Detach: from the directory, the
 * input and the output that one was started with.
 */
int preparation_run(struct shepherd *s);
void preparation_shield(void);
int preparation_detach(struct error *err);

/* Runs the site's hook of a step: "prolog" or "epilog". Nothing where
 * it wants nothing.
 */
int preparation_hook(struct shepherd *s, const char *what, struct error *err);

/* The job, until its program runs. */
int start_job(struct shepherd *s);

/* Its checkpoint command, beside it: as the same user, in its cgroup, directory
 * and environment, with what it prints in the job's standard error. Its pid, or
 * a negative errno. It exits with 125 where something hinders it behind the
 * fork.
 */
pid_t start_checkpoint(void *shepherd, struct error *err);
