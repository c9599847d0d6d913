/* SPDX-License-Identifier: Apache-2.0 */
/* A machine without power answers nothing, and TCP would wait for minutes. With several hosts
 * each therefore gets two seconds before the next is tried (decision 733); a host that refuses
 * costs nothing.
 */
#include "lib/http/http_dial.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_address.h"
#include "lib/http/http_endpoint.h"
#include "lib/loop/base.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

#define PATIENCE_S 2

/* Work that runs elsewhere and may outlive the dial: a name lookup on a worker
 * or, for a Unix socket, the first step itself.
 */
struct host_lookup {
    struct http_dial *dial; /* NULL once it is freed */
    struct http_address address;
    http_resolve_fn *resolve;
    struct http_endpoints found;
    struct error error;
    int r;
};

struct http_dial {
    struct loop *loop;
    http_dial_fn fn;
    void *arg;
    struct host_lookup *lookup; /* or NULL */
    struct http_endpoints found;
    size_t next;                           /* index in `found`, to try if the current one fails */
    const struct http_client_layer *layer; /* or NULL */
    char *host;                            /* the name to verify, for the
                                            * layer */
    unsigned first_host;
    unsigned n_hosts;
    struct event patience; /* with the endpoint that is tried now */
    struct bufferevent *bev;
};

static void
finish(struct http_dial *d, int r, const char *why)
{
    struct bufferevent *bev = d->bev;

    event_del(&d->patience);

    d->bev = NULL;
    if (bev != NULL)
        bufferevent_setcb(bev, NULL, NULL, NULL, NULL);
    d->fn(bev, r, why, d->arg);
}

static void try_next(struct http_dial *d, int failed);

/* TLS, on a socket that is connected */

static void
fail(struct http_dial *d, int r, const char *why)
{
    bufferevent_free(d->bev);
    d->bev = NULL;
    finish(d, r, why);
}

static void
on_handshake(struct bufferevent *bev, short what, void *arg)
{
    struct http_dial *d = arg;

    if ((what & BEV_EVENT_CONNECTED) != 0)
        finish(d, 0, NULL);
    else
        fail(d, -EPROTO, d->layer->why(bev));
}

static void
secure(struct http_dial *d)
{
    int fd = bufferevent_getfd(d->bev);

    bufferevent_setfd(d->bev, -1);
    bufferevent_free(d->bev);
    d->bev = d->layer->make(loop_base(d->loop), fd, d->host, d->layer->arg);
    if (d->bev == NULL) {
        close(fd);
        finish(d, -EPROTO, "TLS cannot begin");
        return;
    }
    bufferevent_setcb(d->bev, NULL, NULL, on_handshake, d);
    bufferevent_enable(d->bev, EV_READ | EV_WRITE);
}

/* TCP */

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
    struct http_dial *d = arg;
    int r = errno != 0 ? -errno : -ECONNREFUSED;

    (void)bev;
    event_del(&d->patience);
    if ((what & BEV_EVENT_CONNECTED) == 0)
        try_next(d, r);
    else if (d->layer != NULL)
        secure(d);
    else
        finish(d, 0, NULL);
}

static void
watch(struct http_dial *d, int fd)
{
    d->bev = bufferevent_socket_new(loop_base(d->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (d->bev == NULL)
        abort();
    bufferevent_setcb(d->bev, NULL, NULL, on_event, d);
    bufferevent_enable(d->bev, EV_WRITE);
    /* The socket is already connecting; this waits until it is connected. */
    bufferevent_socket_connect(d->bev, NULL, 0);
}

/* A machine that is off answers nothing. */
static void
on_patience(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    try_next(arg, -ETIMEDOUT);
}

static void
try_next(struct http_dial *d, int failed)
{
    static const struct timeval patience = {.tv_sec = PATIENCE_S};

    int fd = -1;
    int r = failed;

    if (d->bev != NULL)
        bufferevent_free(d->bev);
    d->bev = NULL;
    while (d->next < d->found.count && fd < 0)
        r = http_address_connect_tcp(&d->found.items[d->next++], &fd);
    if (fd < 0) {
        finish(d, r, strerror(-r));
        return;
    }
    if (d->next < d->found.count)
        event_add(&d->patience, &patience);
    watch(d, fd);
}

static void
begin_unix(struct http_dial *d, const struct host_lookup *l)
{
    int fd = -1;
    int r = http_address_connect_unix(&l->address, &fd);

    if (r < 0)
        finish(d, r, strerror(-r));
    else
        watch(d, fd);
}

static void
look_up(void *arg)
{
    struct host_lookup *l = arg;

    l->r = http_address_resolve(&l->address, l->resolve, &l->found, &l->error);
}

static void
looked_up(void *arg)
{
    struct host_lookup *l = arg;
    struct http_dial *d = l->dial;

    if (d == NULL) {
        http_endpoints_fini(&l->found);
    } else {
        d->lookup = NULL;
        d->found = l->found;
        if (l->address.path != NULL)
            begin_unix(d, l);
        else if (l->r < 0)
            finish(d, l->r, l->error.text);
        else
            try_next(d, -EHOSTUNREACH);
    }
    http_address_fini(&l->address);
    free(l);
}

struct http_dial *
http_dial_new(struct loop *loop, const struct http_client_settings *settings,
              const struct http_address *address, unsigned first_host, http_dial_fn fn, void *arg)
{
    struct http_dial *d = xnew(struct http_dial);
    struct host_lookup *l = xnew(struct host_lookup);
    bool is_unix = address->path != NULL;

    d->loop = loop;
    d->fn = fn;
    d->arg = arg;
    d->lookup = l;
    l->dial = d;
    l->resolve = settings->resolve;
    if (address->is_secure) {
        d->layer = settings->layer;
        d->host = xstrdup(address->hosts[0].name);
    }
    event_assign(&d->patience, loop_base(loop), -1, 0, on_patience, d);
    d->first_host = first_host;
    d->n_hosts = address->n_hosts;
    http_address_copy(address, first_host, &l->address);
    if (settings->workers != NULL && !is_unix) {
        workers_submit(settings->workers, loop, look_up, looked_up, l);
        return d;
    }
    if (!is_unix)
        look_up(l);
    loop_defer(loop, looked_up, l);
    return d;
}

unsigned
http_dial_host(const struct http_dial *d)
{
    unsigned n = d->next > 0 ? d->found.items[d->next - 1].n_host : 0;

    return d->n_hosts > 0 ? (d->first_host + n) % d->n_hosts : 0;
}

void
http_dial_free(struct http_dial *d)
{
    if (d == NULL)
        return;
    event_del(&d->patience);
    if (d->lookup != NULL)
        d->lookup->dial = NULL;
    http_endpoints_fini(&d->found);
    if (d->bev != NULL)
        bufferevent_free(d->bev);
    free(d->host);
    free(d);
}
