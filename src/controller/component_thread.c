/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler and the lifecycle loops have threads of their own because a decision may take
 * longer than a request may wait, and they are clients of the API like any other: between
 * threads go messages, and hardly ever a lock. They are nicer than the main loop, since
 * everybody waits for that one.
 */
#include "controller/component_thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/thread.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"

/* How much nicer a component's thread is than the controller itself. Clients of
 * the API wait only for the main loop, so that loop runs first when there are
 * fewer CPUs than busy threads.
 */
#define NICE_MORE 5

struct component_thread {
    struct component_thread_settings s;
    struct loop *loop;
    pthread_t thread;
    void *component; /* used by the component's thread only */
};

struct message {
    const struct component_thread *thread;
    void (*call)(void *component);
};

/* Linux has a nice value for each thread. It has no effect under a real-time
 * policy; there the priority is lowered.
 */
static void
lower_priority(void)
{
    id_t self = (id_t)gettid();
    struct sched_param order;
    int policy;

    (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICE_MORE);
    if (pthread_getschedparam(pthread_self(), &policy, &order) != 0 || order.sched_priority <= 1)
        return;
    order.sched_priority--;
    (void)pthread_setschedparam(pthread_self(), policy, &order);
}

static void *
work(void *arg)
{
    struct component_thread *c = arg;
    struct client *client = apiserver_client_new(c->s.api, c->loop, c->s.room);

    lower_priority();
    c->component = c->s.begin(c->loop, client, c->s.context);
    loop_run(c->loop);
    c->s.end(c->component);
    c->component = NULL;
    client_free(client);
    loop_drain(c->loop);
    return NULL;
}

struct component_thread *
component_thread_new(const struct component_thread_settings *settings)
{
    struct component_thread *c = xnew(struct component_thread);

    c->s = *settings;
    c->loop = loop_new();
    if (thread_start(&c->thread, settings->name, work, c) != 0)
        abort();
    return c;
}

static void
deliver(void *arg)
{
    struct message *e = arg;

    if (e->thread->component != NULL)
        e->call(e->thread->component);
    free(e);
}

void
component_thread_call(struct component_thread *c, void (*call)(void *component))
{
    struct message *e = xnew(struct message);

    e->thread = c;
    e->call = call;
    loop_post(c->loop, deliver, e);
}

void
component_thread_free(struct component_thread *c)
{
    if (c == NULL)
        return;
    loop_stop(c->loop);
    pthread_join(c->thread, NULL);
    loop_free(c->loop);
    free(c);
}
