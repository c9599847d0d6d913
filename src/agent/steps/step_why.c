/* SPDX-License-Identifier: Apache-2.0 */
/* step_why.c - kiln-steps that the kernel has killed, and the answer to WHY
 *
 * With cgroup v2 the kernel ends all of a pod that needs more memory than it has, so there is
 * nobody left to tell krun, and the pod is gone a moment later. So the last ones are kept here,
 * by the names that a krun may call the pod by, and each is told only to the user whose step
 * it was. Their number is fixed: a krun asks at once.
 */
#include "agent/steps/step_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/steps/step_socket.h"
#include "lib/base/alloc.h"
#include "lib/step/step_frames.h"

#define DEATHS 64u

struct death {
    char *uid, *group; /* the pod's names; the second may be NULL */
    uid_t owner;
    int64_t id;
};

struct step_why {
    struct death deaths[DEATHS]; /* a ring */
    unsigned n;                  /* all that were */
};

struct step_why *
step_why_new(void)
{
    return xnew(struct step_why);
}

static void
free_death(struct death *d)
{
    free(d->uid);
    free(d->group);
    *d = (struct death){0};
}

void
step_why_free(struct step_why *w)
{
    for (unsigned i = 0; w != NULL && i < DEATHS; i++)
        free_death(&w->deaths[i]);
    free(w);
}

void
step_why_add(struct step_why *w, const char *pod_uid, char *group, uid_t owner, int64_t id)
{
    struct death *d = &w->deaths[w->n++ % DEATHS];

    free_death(d);
    *d = (struct death){
        .uid = xstrdup(pod_uid),
        .group = group,
        .owner = owner,
        .id = id,
    };
}

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

bool
step_why_is_about(const struct step_why_question *q, const char *pod_uid, const char *group)
{
    return strcmp(q->name, pod_uid) == 0 || (group != NULL && strcmp(q->name, group) == 0);
}

static bool
has_died(const struct step_why *w, const struct step_why_question *q)
{
    for (unsigned i = 0; i < DEATHS; i++) {
        const struct death *d = &w->deaths[i];

        if (d->uid != NULL && d->id == q->id && d->owner == q->user
            && step_why_is_about(q, d->uid, d->group))
            return true;
    }
    return false;
}

void
step_why_answer(const struct step_why *w, struct step_channel *connection,
                const struct step_asked *asked, step_why_is_here_fn *is_here, const void *context)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    struct step_why_question q = {.user = asked->peer.uid};

    if (parse(text, &q.id) < 0) {
        step_socket_answer(connection, STEP_FRAME_REFUSE,
                           "this is not the request of a krun of this release");
    } else {
        q.name = asked->peer.pod != NULL ? asked->peer.pod : text;
        if (has_died(w, &q))
            step_socket_answer(connection, STEP_FRAME_END, STEP_OUT_OF_MEMORY);
        else
            step_socket_answer(connection, is_here(&q, context) ? STEP_FRAME_WAIT : STEP_FRAME_END,
                               "");
    }
    step_socket_close(connection);
}
