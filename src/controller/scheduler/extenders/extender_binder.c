/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender_binder.h"

#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_transport.h"
#include "controller/scheduler/extenders/extender_wire.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

struct extender_binder {
    struct extender_binder_settings settings;
    struct list requests;
};

struct bind_request {
    struct list link;
    struct extender_binder *owner;
    struct assignment *a;
    const struct extender *to;
    struct extender_call *call;
};

struct extender_binder *
extender_binder_new(const struct extender_binder_settings *settings)
{
    struct extender_binder *b = xnew(struct extender_binder);

    b->settings = *settings;
    list_init(&b->requests);
    return b;
}

static void
request_free(struct bind_request *r)
{
    if (r->call != NULL)
        extender_transport_cancel(r->owner->settings.extender_transport, r->call);
    list_remove(&r->link);
    free(r);
}

void
extender_binder_free(struct extender_binder *b)
{
    if (b == NULL)
        return;
    list_foreach_safe(link, &b->requests)
        request_free(container_of(link, struct bind_request, link));
    free(b);
}

static void
answered(const char *text, size_t length, const char *failure, void *context)
{
    struct bind_request *r = context;
    const struct extender_binder_settings *s = &r->owner->settings;
    struct assignment *a = r->a;
    const struct extender *e = r->to;
    CLEANUP_FREE char *words = NULL;
    struct error err = {0};

    r->call = NULL;
    request_free(r);
    if (failure == NULL && extender_binding_decode(text, length, &err) < 0)
        failure = words = xasprintf("extender \"%s\", %s: %s", e->url, e->bind_verb, err.text);
    if (failure == NULL) {
        s->bound(a, VERDICT_OK, s->context);
    } else if (e->is_ignorable) {
        log_info("pod '%s': %s; the extender is ignorable, binding without it", a->queued->key,
                 failure);
        s->bound(a, VERDICT_SKIP, s->context);
    } else {
        a->error = xasprintf("binding to node '%s': %s", a->node_name, failure);
        s->bound(a, VERDICT_ERROR, s->context);
    }
}

bool
extender_binder_bind(struct extender_binder *b, struct assignment *a)
{
    const struct extenders *all = b->settings.extenders;
    struct strbuf body = STRBUF_INIT;
    struct bind_request *r;
    unsigned i = 0;

    /* One extender binds: the first that can and that is concerned, as in upstream. */
    while (i < all->count
           && (all->items[i].bind_verb == NULL
               || !extender_is_concerned(&all->items[i], a->cycle.pod)))
        i++;
    if (i == all->count)
        return false;
    r = xnew(struct bind_request);
    r->owner = b;
    r->a = a;
    r->to = &all->items[i];
    list_init(&r->link);
    list_add_last(&b->requests, &r->link);
    extender_binding_encode(a->cycle.pod, a->node_name, &body);
    r->call = extender_transport_post(b->settings.extender_transport, r->to, r->to->bind_verb,
                                      &body, answered, r);
    return true;
}
