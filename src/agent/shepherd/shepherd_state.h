/* SPDX-License-Identifier: Apache-2.0 */
/* shepherd_state.h - the private structs of the shepherd program
 *
 * shepherd.c claims the pod, supervises the job and records the end;
 * preparation.c has the steps before the job, start.c starts it.
 *
 * Thread: the shepherd's first one. start.c has another one, which is the job's
 *         parent and only waits, until the job is over.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

#include "agent/shepherd/become_user.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/prepared_job.h"
#include "agent/shepherd/supervisor.h"
#include "lib/base/macro.h"

struct cgroup;
struct error;
struct launcher_thread;
struct user_account;

/* State that is the same for all shepherds; the fork server reads it once. */
struct inherited_state {
    char *boot_id;
    /* program that can ask the user database; NULL: this one can */
    char *look_up_program;
    bool is_apart;    /* in a session without the agent */
    bool is_shielded; /* from the OOM killer, or shielding is not allowed */
    bool is_detached; /* from the agent's directory, input and output */
};

struct shepherd {
    const struct inherited_state *inherited_state;
    bool has_channel;      /* to the agent (handover.h) */
    bool had_pods;         /* former ones, before this pod */
    bool may_share_memory; /* with the job until its program runs */
    struct order order;
    struct cgroup *own;
    struct cgroup *cgroup;
    struct user_account *user;
    struct prepared_job prepared;
    struct launcher_thread *launcher_thread; /* while that thread exists */
    int step; /* the job's present step, if the job shares our memory */
    struct supervisor supervisor;
    struct live_record live;
    struct exit_record exit_record;
    struct become_user_report report;
    char *script;
    bool has_asked_site; /* the site's user database */
    bool has_begun_hooks;
    /* usage is the cgroup's, not that of all waited-for children */
    bool is_usage_cgroups;
    int64_t began_us;     /* monotonic, start of the program */
    struct rusage before; /* usage of earlier children: hooks, former pods */
};

/* Records that the pod cannot be started, and at which step; returns `code`. */
int shepherd_fail(struct shepherd *s, const char *step, int code, char *message TAKES);

/* preparation_run takes all steps before the fork. preparation_shield protects
 * this process and its children from the OOM killer; nothing happens where that
 * is not allowed. preparation_detach leaves the directory, the input and the
 * output that the process was started with.
 */
int preparation_run(struct shepherd *s);
void preparation_shield(void);
int preparation_detach(struct error *err);

/* Runs the site's hook of a step, "prolog" or "epilog"; nothing where there is
 * none.
 */
int preparation_hook(struct shepherd *s, const char *what, struct error *err);

/* start_job starts the job and waits until its program runs. end_job ends the
 * job's parent thread; call it when the job is over or could not be started.
 */
int start_job(struct shepherd *s);
void end_job(struct shepherd *s);

/* Starts the checkpoint command beside the job: as the same user, in the job's
 * cgroup, directory and environment, with its output in the job's standard
 * error. Returns its pid, or a negative errno. The command exits with 125 if a
 * step after the fork fails.
 */
pid_t start_checkpoint(void *shepherd, struct error *err);
