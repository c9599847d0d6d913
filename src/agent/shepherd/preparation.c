/* SPDX-License-Identifier: Apache-2.0 */
/* preparation.c - the steps before the job; each has a name that a failure is
 * reported by
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/call_timeout.h"
#include "agent/shepherd/handover.h"
#include "agent/shepherd/hook.h"
#include "agent/shepherd/shepherd_state.h"
#include "agent/shepherd/spool.h"
#include "agent/shepherd/user_account.h"
#include "agent/shepherd/user_cache.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* The OOM killer must not kill the shepherd, which could not record the job's
 * end then. A rootless shepherd cannot be shielded.
 */
void
preparation_shield(void)
{
    CLEANUP_FD int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, "-1000", 5) != 5)
        return;
}

int
preparation_detach(struct error *err)
{
    CLEANUP_FD int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    umask(077);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0
        || chdir("/") < 0)
        return error_set(err, -errno, "detaching: %s", strerror(errno));
    return 0;
}

/* Without a prolog, and with a cached user, the job begins in a moment: then
 * this record already says that the pod must not be launched again.
 */
static int
detach(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    int r = s->inherited_state->is_detached ? 0 : preparation_detach(err);

    if (r < 0)
        return r;
    if (!s->inherited_state->is_apart)
        setsid();
    if (!s->inherited_state->is_shielded)
        preparation_shield();
    if (o->prolog == NULL && s->user != NULL && !o->awaits_start)
        s->live.phase = LIVE_STARTING;
    s->live.keeps_limit = LIVE_CAN_SIGNAL;
    return live_record_write(&s->live, o->run_dir, err);
}

static int
find_cgroups(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    int r = 0;

    if (o->shepherd_cgroup != NULL)
        r = cgroup_parse(o->shepherd_cgroup, &s->own, err);
    if (r == 0 && s->own != NULL)
        r = cgroup_add(s->own, 0, err);
    if (r == 0 && o->job_cgroup != NULL)
        r = cgroup_parse(o->job_cgroup, &s->cgroup, err);
    s->supervisor.cgroup = s->cgroup;
    return r;
}

static int
check_user(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;

    if (o->uid == 0 && !o->allow_root)
        return error_set(err, -EPERM,
                         "jobs of root are refused on this node; an "
                         "administrator may set allowRootJobs");
    if (geteuid() != 0 && o->uid != (int64_t)geteuid())
        return error_set(err, -EPERM,
                         "a rootless agent of uid %u cannot run jobs of uid "
                         "%lld",
                         geteuid(), (long long)o->uid);
    return 0;
}

/* The exit record that the timeout writes if the user database does not answer.
 */
static void
format_timeout_record(struct shepherd *s, struct strbuf *text)
{
    struct exit_record e = s->exit_record;
    CLEANUP_FREE char *message = xasprintf(
        "looking up uid %lld took longer than %lld ms; does the "
        "node's user directory (such as LDAP) answer? ('getent "
        "passwd %lld')",
        (long long)s->order.uid, (long long)s->order.groups_timeout_ms, (long long)s->order.uid);
    char step[] = "user";

    e.failed_step = step;
    e.message = message;
    e.error_number = ETIMEDOUT;
    e.exit_code = 125;
    e.ended_at_us = clock_real_us(&clock_system) + s->order.groups_timeout_ms * 1000;
    exit_record_format(&e, text);
}

static int
find_user(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *final = xasprintf("%s/exit", o->state_dir);
    CLEANUP_FREE char *temporary = xasprintf("%s/exit.late", o->state_dir);
    struct call_timeout late = {
        .directory = o->state_dir,
        .temporary = temporary,
        .final = final,
    };
    int r;

    if (s->user != NULL)
        return 0;
    if (s->inherited_state->look_up_program != NULL)
        return error_set(err, -EIO,
                         "'%s', the program that looks up users, cannot be "
                         "started",
                         s->inherited_state->look_up_program);
    format_timeout_record(s, &text);
    late.bytes = text.text;
    late.length = text.length;
    r = call_timeout_start(&late, o->groups_timeout_ms);
    if (r < 0)
        return error_set(err, r, "setting a timer: %s", strerror(-r));
    s->has_asked_site = true;
    r = user_account_find((uid_t)o->uid, (gid_t)o->gid, &s->user, err);
    call_timeout_stop();
    if (r == 0 && o->users_dir != NULL)
        user_cache_put(o->users_dir, (gid_t)o->gid, s->user);
    return r;
}

static int
spool_files(struct shepherd *s, struct error *err)
{
    const struct order *o = &s->order;
    uid_t uid = s->user->uid;
    gid_t gid = s->user->gid;
    int r = 0;

    if (o->script_bytes >= 0) {
        s->script = xasprintf("%s/script", o->state_dir);
        r = spool_script(s->script, HANDOVER_SCRIPT_FD, o->script_bytes, uid, gid, err);
        close(HANDOVER_SCRIPT_FD);
    }
    if (r == 0 && o->tmp_dir != NULL)
        r = spool_directory(o->tmp_dir, uid, gid, err);
    if (r == 0 && o->own_dir != NULL)
        r = spool_check_owner(o->own_dir, uid, err);
    return r;
}

/* Values from the order are borrowed; the other variables are freed by the end
 * of the process.
 */
int
preparation_hook(struct shepherd *s, const char *what, struct error *err)
{
    const struct order *o = &s->order;
    bool is_epilog = strcmp(what, "epilog") == 0;
    const char *program = is_epilog ? o->epilog : o->prolog;
    size_t n = o->hook_environment.count;
    CLEANUP_FREE const char **environment = NULL;

    if (program == NULL)
        return 0;
    environment = xnew_array(const char *, n + 4);
    for (size_t i = 0; i < n; i++)
        environment[i] = o->hook_environment.items[i];
    environment[n++] = xasprintf("KILN_HOOK=%s", what);
    if (is_epilog) {
        environment[n++] =
            xasprintf("KILN_JOB_EXIT_CODE=%lld", (long long)s->exit_record.exit_code);
        environment[n++] = xasprintf("KILN_JOB_SIGNAL=%lld", (long long)s->exit_record.signal);
    }
    return hook_run(what, program, environment, o->hook_timeout_ms,
                    is_epilog ? NULL : &s->supervisor, err);
}

static int
run_prolog(struct shepherd *s, struct error *err)
{
    s->has_begun_hooks = true;
    return preparation_hook(s, "prolog", err);
}

static int
prepare_job(struct shepherd *s, struct error *err)
{
    return prepared_job_prepare(&s->prepared, &s->order, s->user, s->script, err);
}

static int
begin_supervision(struct shepherd *s, struct error *err)
{
    s->supervisor.fence = (struct fence){
        .path = s->order.heard_path,
        .after_us = s->order.fence_after_ms * 1000,
        .began_us = clock_boottime_us(),
    };
    s->supervisor.deadline = (struct deadline){
        .limit_us = s->order.time_limit_ms > 0 ? s->order.time_limit_ms * 1000 : DEADLINE_NEVER,
        .warn_us = s->order.warn_before_ms * 1000,
        .grace_us = s->order.grace_ms * 1000,
        .delete_us = DEADLINE_NEVER,
        .delete_grace_us = DEADLINE_NEVER,
    };
    s->supervisor.shutdown_grace_us = s->order.shutdown_grace_ms * 1000;
    s->supervisor.warning = (struct warning){
        .signal = (int)s->order.warn_signal,
        .first_only = s->order.warn_main,
    };
    return supervisor_begin(&s->supervisor, err);
}

/* The start barrier of a gang: all members are prepared before one of them starts.
 * Nothing of the user has run, so a lost shepherd may be replaced by another one that
 * prepares again.
 */
static int
await_start(struct shepherd *s, struct error *err)
{
    struct supervisor *v = &s->supervisor;
    struct pollfd fd = {.fd = v->signal_fd, .events = POLLIN};
    int r;

    if (!s->order.awaits_start)
        return 0;
    s->live.is_prepared = 1;
    r = live_record_write(&s->live, s->order.run_dir, err);
    if (r < 0)
        return r;
    while (supervisor_check_cancelled(v) == 0 && !v->may_start)
        poll(&fd, 1, -1);
    return 0;
}

/* After this record, an agent must not launch the pod again on its own. */
static int
write_starting(struct shepherd *s, struct error *err)
{
    if (s->live.phase == LIVE_STARTING)
        return 0;
    s->live.phase = LIVE_STARTING;
    return live_record_write(&s->live, s->order.run_dir, err);
}

static const struct step {
    const char *name;
    int (*take)(struct shepherd *s, struct error *err);
    bool is_long; /* a pod may be deleted meanwhile */
} steps[] = {
    {"shepherd", detach, false},
    {"shepherd cgroup", find_cgroups, false},
    {"user allowed", check_user, false},
    {"signals", begin_supervision, false},
    {"user", find_user, true},
    {"spool", spool_files, true},
    {EXIT_RECORD_PROLOG, run_prolog, true},
    {"outfit", prepare_job, false},
    {"live state", await_start, true},
    {"live state", write_starting, true},
};

/* A pod that was deleted meanwhile does not run. */
static int
record_cancelled(struct shepherd *s)
{
    int r = shepherd_fail(s, EXIT_RECORD_CALLED_OFF, -ECANCELED,
                          xstrdup("it was told to end before it had started"));

    s->exit_record.signal = s->supervisor.cancelled_by;
    s->exit_record.exit_code = 128 + s->supervisor.cancelled_by;
    return r;
}

int
preparation_run(struct shepherd *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct error err = {0};
        int r = steps[i].take(s, &err);

        if (steps[i].is_long && supervisor_check_cancelled(&s->supervisor) != 0)
            return record_cancelled(s);
        if (r < 0)
            return shepherd_fail(s, steps[i].name, r, xstrdup(err.text));
    }
    return 0;
}
