/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/bind/binding_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

struct binding_client {
    struct client client;
    struct list calls;
    binding_client_bound_fn *bound;
    void *context;
};

struct pending_call {
    struct client_call call; /* the first member: the client's own */
    struct list link;
    struct arena *arena;
    struct json *binding; /* or a list of them; NULL: another write */
    client_done_fn *done;
    void *context;
};

static struct binding_client *
of_client(struct client *client)
{
    return container_of(client, struct binding_client, client);
}

static void
call_free(struct pending_call *c)
{
    list_remove(&c->link);
    arena_free(c->arena);
    free(c);
}

static struct client_call *
take_call(struct client *client, struct arena *arena TAKES, const struct client_request *request,
          client_done_fn *done, void *context)
{
    struct pending_call *c = xnew(struct pending_call);
    bool is_binding = request->subresource != NULL && strcmp(request->subresource, "binding") == 0;

    c->call.client = client;
    c->arena = arena;
    c->binding = is_binding ? request->body : NULL;
    c->done = done;
    c->context = context;
    list_add_last(&of_client(client)->calls, &c->link);
    return &c->call;
}

static void
cancel(struct client_call *call)
{
    call_free(container_of(call, struct pending_call, call));
}

static void
abandon(struct client *client)
{
    struct binding_client *b = of_client(client);
    struct error err = {0};

    error_set(&err, -ECANCELED, "the client ends");
    while (!list_is_empty(&b->calls)) {
        struct pending_call *c = container_of(b->calls.next, struct pending_call, link);

        list_remove(&c->link);
        c->done(&(struct client_reply){.error = &err}, c->context);
        call_free(c);
    }
}

static const struct client_ops ops = {
    .call = take_call,
    .cancel = cancel,
    .abandon = abandon,
};

struct binding_client *
binding_client_new(binding_client_bound_fn *bound, void *context)
{
    struct binding_client *b = xnew(struct binding_client);

    b->client.ops = &ops;
    b->bound = bound;
    b->context = context;
    list_init(&b->calls);
    return b;
}

void
binding_client_free(struct binding_client *b)
{
    if (b == NULL)
        return;
    while (!list_is_empty(&b->calls))
        call_free(container_of(b->calls.next, struct pending_call, link));
    free(b);
}

struct client *
binding_client_client(struct binding_client *b)
{
    return &b->client;
}

static void
report_bound(const struct binding_client *b, const struct json *binding)
{
    b->bound(json_path_text(binding, "metadata.namespace"),
             json_path_text(binding, "metadata.name"), json_path_text(binding, "target.name"),
             json_get(binding, "allocation"), b->context);
}

static void
answer(const struct binding_client *b, struct pending_call *c)
{
    const struct json *items;

    list_remove(&c->link);
    c->done(&(struct client_reply){.code = 201}, c->context);
    items = c->binding != NULL ? json_get(c->binding, "items") : NULL;
    for (uint32_t i = 0; i < json_count(items); i++)
        report_bound(b, json_at(items, i));
    if (c->binding != NULL && items == NULL)
        report_bound(b, c->binding);
    call_free(c);
}

bool
binding_client_run(struct binding_client *b)
{
    bool any = !list_is_empty(&b->calls);

    while (!list_is_empty(&b->calls))
        answer(b, container_of(b->calls.next, struct pending_call, link));
    return any;
}
