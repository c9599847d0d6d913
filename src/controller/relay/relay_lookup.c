/* SPDX-License-Identifier: Apache-2.0 */
/* The C library may wait for a name server for half a minute, so a thread of its own asks;
 * nobody waits for that thread. It and the loop share the lookup: who comes last frees it.
 */
#include "controller/relay/relay_lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "lib/http/http_client.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define AGAIN_MS 2000

/* One call of the resolver, which the thread makes. */
struct relay_question {
    pthread_mutex_t lock;
    struct relay_lookup *lookup; /* NULL: nobody wants to know any more */
    struct loop *loop;
    struct engine_leader leader;
    struct relay_target found;
    struct error error;
    int r;
};

struct relay_lookup {
    struct loop *loop;
    struct engine_leader leader;
    struct relay_question *question; /* NULL: between two */
    struct timer *again;
    relay_found_fn *found;
    void *arg;
    bool is_said;
};

void
relay_target_fini(struct relay_target *target)
{
    http_endpoints_fini(&target->plain);
    http_endpoints_fini(&target->tls);
    explicit_bzero(target->key, sizeof(target->key));
}

/* The host of "HOST:PORT" and its port; NULL: none was published. */
static char *
split(const char *address, uint16_t *ret_port)
{
    char *host = xstrdup(address[0] == '[' ? address + 1 : address);
    char *colon = strrchr(host, ':');

    if (colon == NULL) {
        free(host);
        return NULL;
    }
    *ret_port = htons((uint16_t)atoi(colon + 1));
    *colon = '\0';
    if (colon > host && colon[-1] == ']')
        colon[-1] = '\0';
    return host;
}

static int
resolve(const char *address, struct http_endpoints *ret, struct error *err)
{
    uint16_t port;
    CLEANUP_FREE char *host = split(address, &port);
    int r = host != NULL ? http_resolve(host, ret, err) : 0;

    for (size_t i = 0; i < ret->count; i++) {
        if (ret->items[i].at.any.sa_family == AF_INET)
            ret->items[i].at.v4.sin_port = port;
        else
            ret->items[i].at.v6.sin6_port = port;
    }
    return r < 0 ? error_wrap(err, r, "the address of the leader, '%s'", address) : 0;
}

static int
resolve_both(const struct engine_leader *leader, struct relay_target *ret, struct error *err)
{
    int r = resolve(leader->address, &ret->plain, err);

    if (r == 0)
        r = resolve(leader->tls_address, &ret->tls, err);
    if (r == 0)
        memcpy(ret->key, leader->key, sizeof(ret->key));
    else
        relay_target_fini(ret);
    return r;
}

/* Nobody is asked for it. */
static bool
is_number(const char *address)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    uint16_t port;
    CLEANUP_FREE char *host = split(address, &port);

    return host == NULL || inet_pton(AF_INET, host, bytes) == 1
           || inet_pton(AF_INET6, host, bytes) == 1;
}

static void
free_question(struct relay_question *q)
{
    relay_target_fini(&q->found);
    pthread_mutex_destroy(&q->lock);
    explicit_bzero(&q->leader, sizeof(q->leader));
    free(q);
}

static void ask(struct relay_lookup *l);

static void
ask_again(void *arg)
{
    ask(arg);
}

static void
take_answer(void *arg)
{
    struct relay_question *q = arg;
    struct relay_lookup *l;

    pthread_mutex_lock(&q->lock); /* the thread has left it */
    l = q->lookup;
    pthread_mutex_unlock(&q->lock);
    if (l == NULL) { /* the lookup was freed after the answer had come */
        free_question(q);
        return;
    }
    l->question = NULL;
    if (q->r == 0) {
        l->found(&q->found, l->arg);
    } else {
        if (!l->is_said)
            log_warning("Nothing can be relayed: %s", q->error.text);
        l->is_said = true;
        timer_start(l->again, AGAIN_MS);
    }
    free_question(q);
}

static void *
answer(void *arg)
{
    struct relay_question *q = arg;
    bool is_wanted;

    q->r = resolve_both(&q->leader, &q->found, &q->error);
    pthread_mutex_lock(&q->lock);
    is_wanted = q->lookup != NULL;
    if (is_wanted)
        loop_post(q->loop, take_answer, q);
    pthread_mutex_unlock(&q->lock);
    if (!is_wanted)
        free_question(q);
    return NULL;
}

static void
ask(struct relay_lookup *l)
{
    struct relay_question *q = xnew(struct relay_question);
    pthread_t thread;
    int r;

    pthread_mutex_init(&q->lock, NULL);
    q->lookup = l;
    q->loop = l->loop;
    q->leader = l->leader;
    r = thread_start(&thread, "kiln-resolve", answer, q);
    if (r != 0) {
        log_warning("cannot start a thread: %s", strerror(r));
        free_question(q);
        timer_start(l->again, AGAIN_MS);
        return;
    }
    pthread_detach(thread);
    l->question = q;
}

struct relay_lookup *
relay_lookup_new(struct loop *loop, const struct engine_leader *leader, relay_found_fn *found,
                 void *arg)
{
    struct relay_target target = {0};
    struct relay_lookup *l;
    struct error err = {0};

    if (is_number(leader->address) && is_number(leader->tls_address)
        && resolve_both(leader, &target, &err) == 0) {
        found(&target, arg);
        return NULL;
    }
    l = xnew(struct relay_lookup);
    l->loop = loop;
    l->leader = *leader;
    l->found = found;
    l->arg = arg;
    l->again = timer_new(loop, ask_again, l);
    ask(l);
    return l;
}

void
relay_lookup_free(struct relay_lookup *l)
{
    if (l == NULL)
        return;
    if (l->question != NULL) {
        pthread_mutex_lock(&l->question->lock);
        l->question->lookup = NULL;
        pthread_mutex_unlock(&l->question->lock);
    }
    timer_free(l->again);
    explicit_bzero(&l->leader, sizeof(l->leader));
    free(l);
}
