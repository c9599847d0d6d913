/* SPDX-License-Identifier: Apache-2.0 */
/* step_why.c - why a kiln-step has died, for its krun, whose connection was lost (WHY)
 *
 * With cgroup v2 the kernel ends all of a pod that needs more memory than it has, so there is
 * nobody left to tell krun, and the pod is gone a moment later. The last ones are kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pods/pods.h"
#include "agent/steps/step_socket.h"
#include "agent/steps/steps.h"
#include "agent/steps/steps_state.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/step/step_frames.h"

static void
free_death(struct step_death *d)
{
    free(d->uid);
    free(d->group);
    *d = (struct step_death){0};
}

void
step_why_fini(struct steps *s)
{
    for (unsigned i = 0; i < STEP_DEATHS; i++)
        free_death(&s->deaths[i]);
}

static char *
group_of(const struct steps *s, const char *uid)
{
    const struct object *pod = pods_get(s->s.pods, uid);

    return pod != NULL ? step_nodes_name_group(pod) : NULL;
}

void
step_why_note(const struct agent_step *e)
{
    struct steps *s = e->job->steps;
    struct step_death *d = &s->deaths[s->n_deaths++ % STEP_DEATHS];

    free_death(d);
    *d = (struct step_death){
        .uid = xstrdup(e->job->uid),
        .group = group_of(s, e->job->uid),
        .owner = e->owner,
        .id = e->id,
    };
}

struct why_question {
    const char *name; /* of the pod: its uid, or its group */
    uid_t user;
    int64_t id;
};

static int
parse(char *text, int64_t *ret_id)
{
    char *id = strchr(text, ' '), *end;

    if (id == NULL)
        return -EINVAL;
    *id++ = '\0';
    *ret_id = strtoll(id, &end, 10);
    return end == id || *end != '\0' || *ret_id < 0 ? -EINVAL : 0;
}

static bool
is_pod(const struct why_question *q, const char *uid, const char *group)
{
    return strcmp(q->name, uid) == 0 || (group != NULL && strcmp(q->name, group) == 0);
}

static bool
has_died(const struct steps *s, const struct why_question *q)
{
    for (unsigned i = 0; i < STEP_DEATHS; i++) {
        const struct step_death *d = &s->deaths[i];

        if (d->uid != NULL && d->id == q->id && d->owner == q->user && is_pod(q, d->uid, d->group))
            return true;
    }
    return false;
}

/* Of the few pods that have steps here. A pod that ends is not found by its group any more. */
static bool
is_ending(const struct steps *s, const struct why_question *q)
{
    size_t at = 0;
    void *value;

    while (map_next(s->jobs, &at, NULL, &value)) {
        struct step_job *job = value;
        const struct agent_step *e = agent_step_find(&job->running, q->id);
        CLEANUP_FREE char *group = NULL;

        if (e == NULL || e->owner != q->user)
            continue;
        group = group_of(s, job->uid);
        if (is_pod(q, job->uid, group))
            return true;
    }
    return false;
}

void
step_why_take(const struct steps *s, struct step_channel *connection,
              const struct step_asked *asked)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    struct why_question q = {.user = asked->peer.uid};

    if (parse(text, &q.id) < 0) {
        step_socket_answer(connection, STEP_FRAME_REFUSE,
                           "this is not the request of a krun of this release");
    } else {
        q.name = asked->peer.pod != NULL ? asked->peer.pod : text;
        if (has_died(s, &q))
            step_socket_answer(connection, STEP_FRAME_END, STEP_OUT_OF_MEMORY);
        else
            step_socket_answer(connection, is_ending(s, &q) ? STEP_FRAME_WAIT : STEP_FRAME_END, "");
    }
    step_socket_close(connection);
}
