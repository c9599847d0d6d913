/* SPDX-License-Identifier: Apache-2.0 */
/* extender_transport.h - carries a question to an extender, and its answer back
 *
 * This is an interface: the scheduler gets one that speaks HTTP
 * (http_transport.h), a test one of its own.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct extender_transport;
struct extender_call;
struct extender;
struct strbuf;

/* Runs once, later, unless the call is cancelled. Text: the answer, borrowed;
 * NULL where there is none, and then `failure` says why, and of whom.
 */
typedef void extender_transport_done_fn(const char *text,
                                        size_t length,
                                        const char *failure,
                                        void *context);

struct extender_transport_ops {
    struct extender_call *(*post)(struct extender_transport *extender_transport,
                                  const struct extender *to,
                                  const char *verb,
                                  struct strbuf *body TAKES,
                                  extender_transport_done_fn *done,
                                  void *context);
    void (*cancel)(struct extender_call *call);
    void (*free)(struct extender_transport *extender_transport);
};

struct extender_transport {
    const struct extender_transport_ops *ops;
};

static inline void
extender_transport_free(struct extender_transport *extender_transport)
{
    if (extender_transport != NULL)
        extender_transport->ops->free(extender_transport);
}

/* Post: the body is taken, and empty when it returns. The answer comes within
 * the extender's time, or a failure does.
 */
static inline struct extender_call *
extender_transport_post(struct extender_transport *extender_transport,
                        const struct extender *to,
                        const char *verb,
                        struct strbuf *body TAKES,
                        extender_transport_done_fn *done,
                        void *context)
{
    return extender_transport->ops
        ->post(extender_transport, to, verb, body, done, context);
}

static inline void
extender_transport_cancel(struct extender_transport *extender_transport,
                          struct extender_call *call)
{
    extender_transport->ops->cancel(call);
}
