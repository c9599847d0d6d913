/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/http_transport.h"

#include <string.h>

#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_url.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_client.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "lib/tls/tls_client.h"

#define CONNECTIONS 32
#define BODY_BYTES  ((size_t)64 << 20)
#define LOOKUPS     1

/* An extender's address, and the path prefix of its verbs. */
struct endpoint {
    const struct extender *extender;
    struct http_client *client;
    struct tls_client *tls; /* or NULL */
    struct http_client_layer layer;
    char *path; /* "/prefix", or "" */
};

struct http_transport {
    struct extender_transport extender_transport;
    struct loop *loop;
    struct workers *workers;
    struct endpoint *endpoints;
    unsigned n_endpoints;
    struct list calls;
};

struct extender_call {
    struct list link;
    const struct extender *to;
    struct http_call *call;
    struct timer *timer;
    char *verb;
    extender_transport_done_fn *done;
    void *context;
};

/* The URL was checked when the configuration was read. */
static void
open_endpoint(struct http_transport *c, const struct extender *e)
{
    CLEANUP_FREE char *origin = NULL;
    struct endpoint *o = &c->endpoints[c->n_endpoints++];
    struct error err = {0};
    int64_t ms = e->timeout_us / 1000 + 1;

    o->extender = e;
    if (tls_client_open(&e->tls, &o->tls, &err) < 0) {
        /* Opening succeeded when the configuration was read. */
        log_error("extender \"%s\" cannot be reached: %s", e->url, err.text);
        abort();
    }
    o->layer = (struct http_client_layer){
        .make = tls_client_make,
        .why = tls_client_why,
        .arg = o->tls,
    };
    if (extender_url_split(e->url, &origin, &o->path, &err) < 0
        || http_client_new(c->loop, origin,
                           &(struct http_client_settings){
                               .connections = CONNECTIONS,
                               .connect_ms = ms,
                               .answer_ms = ms,
                               .body_bytes = BODY_BYTES,
                               .server = "extender",
                               .server_program = "it",
                               .resolve = http_resolve,
                               .workers = c->workers,
                               .layer = &o->layer,
                           },
                           &o->client, &err)
               < 0)
        abort();
}

static struct endpoint *
find_endpoint(struct http_transport *c, const struct extender *e)
{
    unsigned i = 0;

    while (c->endpoints[i].extender != e)
        i++;
    return &c->endpoints[i];
}

static void
call_free(struct extender_call *t)
{
    list_remove(&t->link);
    if (t->call != NULL)
        http_call_cancel(t->call);
    timer_free(t->timer);
    free(t->verb);
    free(t);
}

static void
end_call(struct extender_call *t, const char *text, size_t length, const char *failure)
{
    extender_transport_done_fn *done = t->done;
    void *context = t->context;

    call_free(t);
    done(text, length, failure, context);
}

static void
answered(const struct http_response *answer, const struct error *err, void *arg)
{
    struct extender_call *t = arg;
    CLEANUP_FREE char *failure = NULL;

    t->call = NULL;
    if (answer != NULL && answer->status == 200) {
        end_call(t, answer->body, answer->length, NULL);
        return;
    }
    if (answer != NULL)
        failure = xasprintf("extender \"%s\" answered %s with code %d", t->to->url, t->verb,
                            answer->status);
    else
        failure = xasprintf("extender \"%s\", %s: %s", t->to->url, t->verb, err->text);
    end_call(t, NULL, 0, failure);
}

static void
ran_out(void *arg)
{
    struct extender_call *t = arg;
    CLEANUP_FREE char *failure =
        xasprintf("extender \"%s\" has not answered %s within %lld ms", t->to->url, t->verb,
                  (long long)(t->to->timeout_us / 1000));

    end_call(t, NULL, 0, failure);
}

static struct extender_call *
http_transport_post(struct extender_transport *extender_transport, const struct extender *to,
                    const char *verb, struct strbuf *body TAKES, extender_transport_done_fn *done,
                    void *context)
{
    struct http_transport *c =
        container_of(extender_transport, struct http_transport, extender_transport);
    struct endpoint *endpoint = find_endpoint(c, to);
    CLEANUP_FREE char *target = xasprintf("%s/%s", endpoint->path, verb);
    struct extender_call *t = xnew(struct extender_call);

    t->to = to;
    t->verb = xstrdup(verb);
    t->done = done;
    t->context = context;
    t->timer = timer_new(c->loop, ran_out, t);
    list_add_last(&c->calls, &t->link);
    timer_start(t->timer, to->timeout_us / 1000);
    t->call = http_client_call(endpoint->client, &(struct http_client_request){
                                                     .method = HTTP_POST,
                                                     .target = target,
                                                     .content_type = "application/json",
                                                     .body = body->text,
                                                     .length = body->length,
                                                     .is_repeatable = verb != to->bind_verb,
                                                     .done = answered,
                                                     .arg = t,
                                                 });
    strbuf_fini(body);
    return t;
}

static void
http_transport_cancel(struct extender_call *call)
{
    call_free(call);
}

static void
http_transport_free(struct extender_transport *extender_transport)
{
    struct http_transport *c =
        container_of(extender_transport, struct http_transport, extender_transport);

    list_foreach_safe(link, &c->calls) call_free(container_of(link, struct extender_call, link));
    for (unsigned i = 0; i < c->n_endpoints; i++) {
        http_client_free(c->endpoints[i].client);
        tls_client_free(c->endpoints[i].tls);
        free(c->endpoints[i].path);
    }
    workers_free(c->workers);
    loop_drain(c->loop);
    free(c->endpoints);
    free(c);
}

struct extender_transport *
http_transport_new(struct loop *loop, const struct extenders *extenders)
{
    static const struct extender_transport_ops ops = {
        .post = http_transport_post,
        .cancel = http_transport_cancel,
        .free = http_transport_free,
    };
    struct http_transport *c = xnew(struct http_transport);

    c->extender_transport.ops = &ops;
    c->loop = loop;
    c->workers = workers_new(LOOKUPS);
    c->endpoints = xnew_array(struct endpoint, extenders->count + 1);
    list_init(&c->calls);
    for (unsigned i = 0; i < extenders->count; i++)
        open_endpoint(c, &extenders->items[i]);
    return &c->extender_transport;
}
