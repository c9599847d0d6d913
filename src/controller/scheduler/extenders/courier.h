/* SPDX-License-Identifier: Apache-2.0 */
/* courier.h - carries a question to an extender, and its answer back
 *
 * An interface: the scheduler is handed one that speaks HTTP
 * (http_courier.h), a test its own.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct courier;
struct courier_trip;
struct extender;
struct strbuf;

/* Runs once, later, unless the trip is cancelled. Text: the answer, borrowed;
 * NULL where there is none, and then `failure` says why, and of whom.
 */
typedef void courier_done_fn(const char *text,
                             size_t length,
                             const char *failure,
                             void *context);

struct courier_ops {
    struct courier_trip *(*post)(struct courier *courier,
                                 const struct extender *to,
                                 const char *verb,
                                 struct strbuf *body TAKES,
                                 courier_done_fn *done,
                                 void *context);
    void (*cancel)(struct courier_trip *trip);
    void (*free)(struct courier *courier);
};

struct courier {
    const struct courier_ops *ops;
};

static inline void
courier_free(struct courier *courier)
{
    if (courier != NULL)
        courier->ops->free(courier);
}

/* Post: the body is taken, and empty when it returns. The answer comes within
 * the extender's time, or a failure does.
 */
static inline struct courier_trip *
courier_post(struct courier *courier,
             const struct extender *to,
             const char *verb,
             struct strbuf *body TAKES,
             courier_done_fn *done,
             void *context)
{
    return courier->ops->post(courier, to, verb, body, done, context);
}

static inline void
courier_cancel(struct courier *courier, struct courier_trip *trip)
{
    courier->ops->cancel(trip);
}
