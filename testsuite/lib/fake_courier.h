/* SPDX-License-Identifier: Apache-2.0 */
/* fake_courier.h - a courier whose extenders are the test itself
 *
 * What is posted waits until the test answers it, in any order.
 */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/extenders/courier.h"
#include "controller/scheduler/extenders/extender.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"

struct courier_trip {
    struct list link;
    const struct extender *to;
    const char *verb;
    char *body;
    courier_done_fn *done;
    void *context;
};

struct fake_courier {
    struct courier courier;
    struct list trips; /* the oldest first */
    unsigned posted;
};

static inline void
fake_trip_free(struct courier_trip *t)
{
    list_remove(&t->link);
    free(t->body);
    free(t);
}

static inline struct courier_trip *
fake_courier_post(struct courier *courier,
                  const struct extender *to,
                  const char *verb,
                  struct strbuf *body TAKES,
                  courier_done_fn *done,
                  void *context)
{
    struct fake_courier *f =
        container_of(courier, struct fake_courier, courier);
    struct courier_trip *t = xnew(struct courier_trip);

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
fake_courier_init(struct fake_courier *f)
{
    static const struct courier_ops ops = {
        .post = fake_courier_post,
        .cancel = fake_trip_free,
    };

    f->courier.ops = &ops;
    f->posted = 0;
    list_init(&f->trips);
}

/* The oldest question with that verb, or NULL. */
static inline struct courier_trip *
fake_courier_find(struct fake_courier *f, const char *verb)
{
    list_foreach(link, &f->trips)
    {
        struct courier_trip *t = container_of(link, struct courier_trip, link);

        if (strcmp(t->verb, verb) == 0)
            return t;
    }
    return NULL;
}

static inline const char *
fake_courier_body(struct fake_courier *f, const char *verb)
{
    struct courier_trip *t = fake_courier_find(f, verb);

    ck_assert_msg(t != NULL, "nobody was asked to %s", verb);
    return t->body;
}

/* Answers the oldest question with that verb; failure instead of text. */
static inline void
fake_courier_answer(struct fake_courier *f,
                    const char *verb,
                    const char *text,
                    const char *failure)
{
    struct courier_trip *t = fake_courier_find(f, verb);
    courier_done_fn *done;
    void *context;

    ck_assert_msg(t != NULL, "nobody was asked to %s", verb);
    done = t->done;
    context = t->context;
    fake_trip_free(t);
    done(text, text != NULL ? strlen(text) : 0, failure, context);
}
