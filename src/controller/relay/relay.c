/* SPDX-License-Identifier: Apache-2.0 */
/* The relay moves bytes and understands none of them, so a standby needs no rights and can
 * leak none (decision 765). It has a thread of its own, because the main thread of a standby
 * waits for the database. Its limit of connections is above the leader's: who has to give way
 * is decided where it is known who is idle and who has proved an account.
 */
#include "controller/relay/relay.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/relay/relay_state.h"
#include "controller/store/engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/map.h"
#include "lib/base/metric.h"
#include "lib/base/random.h"
#include "lib/base/thread.h"
#include "lib/http/http_listener.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/program/process_metrics.h"

/* More than the leader's limit, so that it is the leader that makes room: it closes
 * first what is idle and proves no account.
 */
#define MOST        24000
#define FDS_KEPT    256 /* for all else in the process */
#define SWEEP_MS    1000
#define GREETING_MS 10000
#define DIALING_MS  5000
#define ENDING_MS   2000
#define STUCK_MS    60000 /* the leader ends a slow stream sooner */
#define ACCEPTS     64    /* at once */

struct relay_listener {
    struct relay *relay;
    int fd;
    bool is_tls;
    struct fdwatch *watch;
};

struct relay_thread {
    struct relay relay;
    struct relay_listener *listeners;
    size_t n_listeners;
    struct timer *sweep;
    struct relay_lookup *lookup; /* of the leader's addresses, or NULL */
    bool has_thread;
    pthread_t thread;
};

static struct relay_thread *
thread_of(struct relay *relay)
{
    return container_of(relay, struct relay_thread, relay);
}

/* --- accepting --------------------------------------------------------------------- */

static void
on_listener(int fd, unsigned ready, void *arg)
{
    struct relay_listener *l = arg;

    (void)ready;
    for (unsigned i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof(from);
        int client = accept4(fd, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client >= 0) {
            relay_connection_begin(l->relay, client, l->is_tls, &from);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            fdwatch_want(l->watch, 0); /* until the next sweep */
        return;
    }
}

static int
listen_all(struct relay_thread *t, const struct setting_texts *addresses, bool is_tls,
           struct error *err)
{
    for (size_t i = 0; i < addresses->count; i++) {
        struct relay_listener *l = &t->listeners[t->n_listeners];
        int r = http_listener_bind(addresses->items[i], &l->fd, err);

        if (r < 0)
            return r;
        if (fd_set_nonblocking(l->fd, true) < 0)
            abort();
        l->relay = &t->relay;
        l->is_tls = is_tls;
        t->n_listeners++;
    }
    return 0;
}

/* --- limits of time ---------------------------------------------------------------- */

static void
end_older(struct relay *relay, enum relay_phase phase, int64_t before_ms)
{
    list_foreach_safe(at, &relay->phases[phase])
    {
        struct relay_connection *c = container_of(at, struct relay_connection, place);

        if (c->since_ms > before_ms)
            return;
        if (phase == RELAY_DIALING)
            relay_connection_dial_next(c);
        else
            relay_connection_close(c, phase == RELAY_STUCK);
    }
}

static void
sweep(void *arg)
{
    struct relay_thread *t = arg;
    int64_t now = loop_now_ms();

    end_older(&t->relay, RELAY_GREETING, now - GREETING_MS);
    end_older(&t->relay, RELAY_DIALING, now - DIALING_MS);
    end_older(&t->relay, RELAY_ENDING, now - ENDING_MS);
    end_older(&t->relay, RELAY_STUCK, now - STUCK_MS);
    for (size_t i = 0; i < t->n_listeners; i++)
        fdwatch_want(t->listeners[i].watch, FDWATCH_READ);
}

/* --- life --------------------------------------------------------------------------- */

static void
close_all(struct relay *relay, enum relay_phase phase)
{
    while (!list_is_empty(&relay->phases[phase]))
        relay_connection_close(
            container_of(relay->phases[phase].next, struct relay_connection, place), true);
}

static void *
work(void *arg)
{
    struct relay_thread *t = arg;

    t->sweep = timer_new(t->relay.loop, sweep, t);
    timer_repeat(t->sweep, SWEEP_MS);
    for (size_t i = 0; i < t->n_listeners; i++)
        t->listeners[i].watch = fdwatch_new(t->relay.loop, t->listeners[i].fd, FDWATCH_READ,
                                            on_listener, &t->listeners[i]);
    loop_run(t->relay.loop);
    for (size_t i = 0; i < t->n_listeners; i++)
        fdwatch_free(t->listeners[i].watch);
    for (int phase = 0; phase < RELAY_PHASES; phase++)
        close_all(&t->relay, phase);
    timer_free(t->sweep);
    relay_lookup_free(t->lookup);
    t->lookup = NULL;
    loop_drain(t->relay.loop);
    return NULL;
}

void
relay_free(struct relay *relay)
{
    struct relay_thread *t;

    if (relay == NULL)
        return;
    t = thread_of(relay);
    if (t->has_thread) {
        loop_stop(relay->loop);
        pthread_join(t->thread, NULL);
    }
    for (size_t i = 0; i < t->n_listeners; i++)
        close(t->listeners[i].fd);
    free(t->listeners);
    relay_target_fini(&relay->target);
    metric_registry_free(relay->metrics);
    map_free(relay->peers);
    loop_free(relay->loop);
    free(t);
}

static void
add_metrics(struct relay *relay, const char *state_dir)
{
    relay->metrics = metric_registry_new();
    process_metrics_add(relay->metrics, state_dir);
    metric_set(metric_series(metric_gauge(relay->metrics, "kiln_standby",
                                          "1 while this controller waits to lead.", NULL)),
               1);
    relay->objects = metric_series(
        metric_gauge(relay->metrics, "kiln_standby_objects",
                     "Objects in memory of a controller that waits to lead; 0 until it has read "
                     "them all.",
                     NULL));
    relay->open = metric_series(metric_gauge(relay->metrics, "kiln_relay_connections",
                                             "Connections at a controller that waits.", NULL));
    relay->relayed = metric_series(
        metric_counter(relay->metrics, "kiln_relay_connections_total",
                       "Connections that were relayed to the controller that leads.", NULL));
    relay->refused = metric_series(
        metric_counter(relay->metrics, "kiln_relay_refused_connections_total",
                       "Connections that were not relayed: too many, or no leader.", NULL));
}

/* A connection needs two descriptors. */
static unsigned
find_most(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur > 2 * MOST + FDS_KEPT)
        return MOST;
    return files.rlim_cur > 2 * FDS_KEPT ? (unsigned)(files.rlim_cur - FDS_KEPT) / 2 : FDS_KEPT / 2;
}

int
relay_new(const struct relay_settings *s, struct relay **ret_relay, struct error *err)
{
    struct relay_thread *t = xnew(struct relay_thread);
    struct relay *relay = &t->relay;
    int r;

    relay->loop = loop_new();
    relay->peers = map_new();
    relay->most = find_most();
    random_bytes(&relay->sender.relay, sizeof(relay->sender.relay));
    for (int phase = 0; phase < RELAY_PHASES; phase++)
        list_init(&relay->phases[phase]);
    add_metrics(relay, s->state_dir);
    t->listeners = xcalloc(s->listen->count + s->tls_listen->count + 1, sizeof(t->listeners[0]));
    r = listen_all(t, s->listen, false, err);
    if (r == 0)
        r = listen_all(t, s->tls_listen, true, err);
    if (r == 0) {
        r = -thread_start(&t->thread, "kiln-relay", work, t);
        t->has_thread = r == 0;
    }
    if (r < 0) {
        relay_free(relay);
        return r;
    }
    *ret_relay = relay;
    return 0;
}

/* --- the leader --------------------------------------------------------------------- */

static void
use_target(struct relay *relay, struct relay_target *target)
{
    /* Connections to a leader that leads no more. */
    close_all(relay, RELAY_DIALING);
    close_all(relay, RELAY_OPEN);
    close_all(relay, RELAY_STUCK);
    relay_target_fini(&relay->target);
    relay->target = *target;
    *target = (struct relay_target){0};
    relay->is_leader_away = false;
}

static void
take_target(struct relay_target *target, void *arg)
{
    use_target(arg, target);
}

struct objects_message {
    struct relay *relay;
    size_t n;
};

static void
take_objects(void *arg)
{
    struct objects_message *m = arg;

    metric_set(m->relay->objects, (double)m->n);
    free(m);
}

void
relay_set_objects(struct relay *relay, size_t n)
{
    struct objects_message *m = xnew(struct objects_message);

    *m = (struct objects_message){relay, n};
    loop_post(relay->loop, take_objects, m);
}

struct leader_message {
    struct relay *relay;
    struct engine_leader leader; /* without a key: none is known */
};

static void
take_leader(void *arg)
{
    struct leader_message *m = arg;
    struct relay_thread *t = thread_of(m->relay);
    struct relay_target nowhere = {0};

    relay_lookup_free(t->lookup);
    t->lookup = NULL;
    use_target(m->relay, &nowhere);
    if (m->leader.key[0] != '\0')
        t->lookup = relay_lookup_new(m->relay->loop, &m->leader, take_target, m->relay);
    explicit_bzero(m, sizeof(*m));
    free(m);
}

void
relay_set_leader(struct relay *relay, const struct engine_leader *leader)
{
    struct leader_message *m = xnew(struct leader_message);

    m->relay = relay;
    if (leader != NULL)
        m->leader = *leader;
    loop_post(relay->loop, take_leader, m);
}
