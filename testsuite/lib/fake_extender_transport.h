/* SPDX-License-Identifier: Apache-2.0 */
/* fake_extender_transport.h - an extender transport whose answers the test
 * gives
 *
 * Each request waits until the test answers it, in any order.
 */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_transport.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"

struct extender_call {
    struct list link;
    const struct extender *to;
    const char *verb;
    char *body;
    extender_transport_done_fn *done;
    void *context;
};

struct fake_extender_transport {
    struct extender_transport extender_transport;
    struct list trips; /* the oldest first */
    unsigned posted;
};

static inline void
fake_trip_free(struct extender_call *t)
{
    list_remove(&t->link);
    free(t->body);
    free(t);
}

static inline struct extender_call *
fake_extender_transport_post(struct extender_transport *extender_transport,
                             const struct extender *to, const char *verb, struct strbuf *body TAKES,
                             extender_transport_done_fn *done, void *context)
{
    struct fake_extender_transport *f =
        container_of(extender_transport, struct fake_extender_transport, extender_transport);
    struct extender_call *t = xnew(struct extender_call);

    t->to = to;
    t->verb = verb;
    t->body = strbuf_take(body);
    t->done = done;
    t->context = context;
    list_add_last(&f->trips, &t->link);
    f->posted++;
    return t;
}

static inline void
fake_extender_transport_init(struct fake_extender_transport *f)
{
    static const struct extender_transport_ops ops = {
        .post = fake_extender_transport_post,
        .cancel = fake_trip_free,
    };

    f->extender_transport.ops = &ops;
    f->posted = 0;
    list_init(&f->trips);
}

/* The oldest request with that verb, or NULL. */
static inline struct extender_call *
fake_extender_transport_find(struct fake_extender_transport *f, const char *verb)
{
    list_foreach(link, &f->trips)
    {
        struct extender_call *t = container_of(link, struct extender_call, link);

        if (strcmp(t->verb, verb) == 0)
            return t;
    }
    return NULL;
}

static inline const char *
fake_extender_transport_body(struct fake_extender_transport *f, const char *verb)
{
    struct extender_call *t = fake_extender_transport_find(f, verb);

    ck_assert_msg(t != NULL, "nobody was asked to %s", verb);
    return t->body;
}

/* Answers the oldest request with that verb, by `text`, or by `failure` if
 * `text` is NULL.
 */
static inline void
fake_extender_transport_answer(struct fake_extender_transport *f, const char *verb,
                               const char *text, const char *failure)
{
    struct extender_call *t = fake_extender_transport_find(f, verb);
    extender_transport_done_fn *done;
    void *context;

    ck_assert_msg(t != NULL, "nobody was asked to %s", verb);
    done = t->done;
    context = t->context;
    fake_trip_free(t);
    done(text, text != NULL ? strlen(text) : 0, failure, context);
}
