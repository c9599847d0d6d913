/* SPDX-License-Identifier: Apache-2.0 */
/* extender_transport.h - sends a request to an extender and returns its answer
 *
 * An interface: the scheduler gets the implementation that uses HTTP
 * (http_transport.h), a test gets its own.
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

/* Called once, later, unless the call is cancelled. `text` is the answer,
 * borrowed; NULL: there is none, and `failure` says why and names the extender.
 */
typedef void extender_transport_done_fn(const char *text, size_t length, const char *failure,
                                        void *context);

struct extender_transport_ops {
    struct extender_call *(*post)(struct extender_transport *extender_transport,
                                  const struct extender *to, const char *verb,
                                  struct strbuf *body TAKES, extender_transport_done_fn *done,
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

/* Post: takes the body, which is empty afterwards. The answer or a failure
 * comes within the extender's timeout.
 */
static inline struct extender_call *
extender_transport_post(struct extender_transport *extender_transport, const struct extender *to,
                        const char *verb, struct strbuf *body TAKES,
                        extender_transport_done_fn *done, void *context)
{
    return extender_transport->ops->post(extender_transport, to, verb, body, done, context);
}

static inline void
extender_transport_cancel(struct extender_transport *extender_transport, struct extender_call *call)
{
    extender_transport->ops->cancel(call);
}
