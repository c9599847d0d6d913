/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"

/* Niceness of a crew's thread beyond the controller's own. Who reads and
 * writes the API waits for the loop alone, so the loop goes first where there
 * are fewer CPUs than threads with work.
 */
#define NICE_MORE 5

struct crew {
    struct crew_settings s;
    struct loop *loop;
    pthread_t thread;
    void *room; /* the crew's thread alone looks at it */
};

struct message {
    const struct crew *crew;
    void (*tell)(void *room);
};

/* Linux counts niceness by thread, and not where there is a real-time
 * priority.
 */
static void
stand_back(void)
{
    id_t self = (id_t)gettid();
    struct sched_param order;
    int policy;

    (void)setpriority(PRIO_PROCESS,
                      self,
                      getpriority(PRIO_PROCESS, self) + NICE_MORE);
    if (pthread_getschedparam(pthread_self(), &policy, &order) != 0
        || order.sched_priority <= 1)
        return;
    order.sched_priority--;
    (void)pthread_setschedparam(pthread_self(), policy, &order);
}

static void *
work(void *arg)
{
    struct crew *c = arg;
    struct client *client = apiserver_client_new(c->s.api, c->loop, c->s.room);

    stand_back();
    c->room = c->s.begin(c->loop, client, c->s.context);
    loop_run(c->loop);
    c->s.end(c->room);
    c->room = NULL;
    client_free(client);
    loop_drain(c->loop);
    return NULL;
}

struct crew *
crew_new(const struct crew_settings *settings)
{
    struct crew *c = xnew(struct crew);

    c->s = *settings;
    c->loop = loop_new();
    if (pthread_create(&c->thread, NULL, work, c) != 0)
        abort();
    (void)pthread_setname_np(c->thread, settings->name);
    return c;
}

static void
deliver(void *arg)
{
    struct message *e = arg;

    if (e->crew->room != NULL)
        e->tell(e->crew->room);
    free(e);
}

void
crew_tell(struct crew *c, void (*tell)(void *room))
{
    struct message *e = xnew(struct message);

    e->crew = c;
    e->tell = tell;
    loop_post(c->loop, deliver, e);
}

void
crew_free(struct crew *c)
{
    if (c == NULL)
        return;
    loop_stop(c->loop);
    pthread_join(c->thread, NULL);
    loop_free(c->loop);
    free(c);
}
