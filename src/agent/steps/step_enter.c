/* SPDX-License-Identifier: Apache-2.0 */
/* step_enter.c - sessions of users on this node (ENTER), for pam_kiln
 *
 * The module asks as root whether a user has a job here, and for a session to be put into the
 * job's cgroup: itself, so the kernel says which process that is. The session has the job's
 * limits then, and ends with the job.
 */
#include "agent/steps/step_enter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_socket.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/step/step_frames.h"

/* The newest pod of a user, among those that are not suspended: a session there would stop
 * before its user could see why.
 */
struct step_session {
    int64_t user;
    struct running_pod newest;
    bool has_suspended;
};

static void
keep_newest(const struct running_pod *running, void *context)
{
    struct step_session *e = context;
    const struct security_context *who = pod_of(running->pod)->spec.security_context;

    if (who == NULL || who->run_as_user == NULL || *who->run_as_user != e->user)
        return;
    if (running->cgroup != NULL && cgroup_is_frozen(running->cgroup) == 1)
        e->has_suspended = true;
    else if (e->newest.pod == NULL || running->started_at_us > e->newest.started_at_us)
        e->newest = *running;
}

static int
enter(const struct running_pod *running, pid_t pid, struct error *err)
{
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    int r;

    if (running->cgroup == NULL)
        return 0;
    c = cgroup_dup(running->cgroup);
    r = cgroup_add(c, pid, err);
    return r < 0 ? error_wrap(err, r, "the session cannot join your job") : 0;
}

static int
find(const struct step_enter_settings *s, const struct step_asked *asked, bool *ret_moves,
     struct step_session *e, struct error *err)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    char *end;

    if (asked->peer.pid <= 0 || asked->peer.uid != 0)
        return error_set(err, -EPERM, "only root of this node may ask who has jobs here");
    e->user = strtoll(text, &end, 10);
    *ret_moves = strcmp(end, " session") == 0;
    if (end == text || (*end != '\0' && !*ret_moves))
        return error_set(err, -EINVAL, "'%.40s' is not the request of a pam_kiln of this release",
                         text);
    pods_visit_running(s->pods, keep_newest, e);
    if (e->newest.pod == NULL)
        return error_set(err, -ENOENT,
                         e->has_suspended ? "your job on %s is suspended"
                                          : "you have no running job on %s; see ksub(1)",
                         s->node);
    return 0;
}

void
step_enter_answer(const struct step_enter_settings *s, struct step_channel *connection,
                  const struct step_asked *asked)
{
    struct step_session e = {0};
    struct error err = {0};
    bool moves = false;
    int r = find(s, asked, &moves, &e, &err);

    if (r == 0 && moves)
        r = enter(&e.newest, asked->peer.pid, &err);
    if (r < 0)
        step_socket_answer(connection, STEP_FRAME_REFUSE, err.text);
    else
        step_socket_answer(connection, STEP_FRAME_ACCEPT, pod_of(e.newest.pod)->meta.name);
    step_socket_close(connection);
}
