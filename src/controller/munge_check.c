/* SPDX-License-Identifier: Apache-2.0 */
/* A controller without munged looks healthy on its own machine, where the kernel says who is
 * there, while nobody else can use it. So it is asked from time to time, by a worker since the
 * call blocks, and readiness depends on the answer.
 */
#include "controller/munge_check.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/auth/credential_backend.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define EVERY_MS 5000
#define TTL_S    60

struct munge_check {
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    atomic_bool *is_dead;
    struct timer *timer;
    bool is_stopped;
    int result; /* of the worker */
    struct error error;
};

static void
ask(void *arg)
{
    struct munge_check *m = arg;
    char *credential = NULL;

    m->error = (struct error){0};
    m->result = credential_backend_encode(m->credential_backend, "", 0, geteuid(), TTL_S,
                                          &credential, &m->error);
    free(credential);
}

static void
asked(void *arg)
{
    struct munge_check *m = arg;
    bool is_dead = m->result == -EHOSTDOWN;
    bool was_dead = atomic_exchange(m->is_dead, is_dead);

    if (is_dead && !was_dead)
        log_error("%s; users on other machines cannot be authenticated", m->error.text);
    else if (was_dead && !is_dead)
        log_info("MUNGE answers again");
    if (!m->is_stopped)
        timer_start(m->timer, EVERY_MS);
}

static void
begin(void *arg)
{
    struct munge_check *m = arg;

    workers_submit(m->workers, m->loop, ask, asked, m);
}

struct munge_check *
munge_check_new(struct loop *loop, struct workers *workers,
                struct credential_backend *credential_backend, atomic_bool *is_dead)
{
    struct munge_check *m = xnew(struct munge_check);

    m->loop = loop;
    m->workers = workers;
    m->credential_backend = credential_backend;
    m->is_dead = is_dead;
    m->timer = timer_new(loop, begin, m);
    timer_start(m->timer, EVERY_MS);
    return m;
}

void
munge_check_stop(struct munge_check *m)
{
    if (m == NULL)
        return;
    m->is_stopped = true;
    timer_stop(m->timer);
}

void
munge_check_free(struct munge_check *m)
{
    if (m == NULL)
        return;
    timer_free(m->timer);
    free(m);
}
