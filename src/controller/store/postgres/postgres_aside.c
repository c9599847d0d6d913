/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_aside.c - a session that another thread opens, for a thread whose loop goes on
 *
 * A name server or a host that is silent holds libpq up, five seconds and more for each host
 * of the URL. The thread and its caller share the dial: who comes last frees it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "controller/store/engine/engine.h"
#include "controller/store/postgres/postgres.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/thread.h"

#define AT_ONCE_MS 2000 /* most answers come sooner, and nobody need be told of a wait */

struct dial {
    pthread_mutex_t lock;
    char *url;
    char *role;
    int fd; /* can be read when it is done */
    bool is_done;
    bool is_left;
    struct postgres *session;
    struct error error;
    int r;
};

static void
dial_free(struct dial *d)
{
    postgres_close(d->session);
    pthread_mutex_destroy(&d->lock);
    close(d->fd);
    free(d->url);
    free(d->role);
    free(d);
}

static void *
dial_main(void *arg)
{
    const uint64_t one = 1;
    struct dial *d = arg;
    bool is_left;

    d->r = postgres_connect(d->url, d->role, &d->session, &d->error);
    pthread_mutex_lock(&d->lock);
    is_left = d->is_left;
    d->is_done = true;
    if (write(d->fd, &one, sizeof(one)) < 0)
        abort(); /* it counts to one */
    pthread_mutex_unlock(&d->lock);
    if (is_left)
        dial_free(d);
    return NULL;
}

static bool
is_done(struct dial *d)
{
    bool done;

    pthread_mutex_lock(&d->lock);
    done = d->is_done;
    pthread_mutex_unlock(&d->lock);
    return done;
}

/* True if the thread frees it. */
static bool
leave(struct dial *d)
{
    bool is_under_way;

    pthread_mutex_lock(&d->lock);
    is_under_way = !d->is_done;
    d->is_left = true;
    pthread_mutex_unlock(&d->lock);
    return is_under_way;
}

static struct dial *
dial_new(const char *url, const char *role)
{
    struct dial *d = xnew(struct dial);
    pthread_t thread;

    pthread_mutex_init(&d->lock, NULL);
    d->url = xstrdup(url);
    d->role = xstrdup(role);
    d->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->fd < 0 || thread_start(&thread, "kiln-dial", dial_main, d) != 0) {
        dial_free(d);
        return NULL;
    }
    pthread_detach(thread);
    return d;
}

int
postgres_connect_aside(const char *url, const char *role, const struct engine_waits *waits,
                       bool has_waited, struct postgres **ret, struct error *err)
{
    CLEANUP_FREE char *where = postgres_where(url);
    struct dial *d = waits != NULL ? dial_new(url, role) : NULL;
    struct error why = {0};
    int r;

    if (d == NULL)
        return postgres_connect(url, role, ret, err);
    if (!has_waited)
        (void)poll(&(struct pollfd){.fd = d->fd, .events = POLLIN}, 1, AT_ONCE_MS);
    error_set(&why, -EAGAIN, "database '%s': it takes long to connect", where);
    while (!is_done(d))
        if (!waits->waits(&why, d->fd, waits->context)) {
            if (!leave(d))
                dial_free(d);
            return error_set(err, -EAGAIN, "%s", why.text);
        }
    r = d->r;
    if (r < 0)
        error_set(err, r, "%s", d->error.text);
    *ret = d->session;
    d->session = NULL;
    dial_free(d);
    return r;
}
