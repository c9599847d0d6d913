/* SPDX-License-Identifier: Apache-2.0 */
/* sync_call.h - one call that blocks until it is answered, for command lines
 *
 * Runs the client's loop until the answer arrives, and keeps the results. Not
 * for daemons, and not to be called inside a callback of that loop.
 *
 * Thread:  that of the client's loop, which it runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct sync_call {
    int code;              /* HTTP status, 0 without an answer */
    char *reason;          /* of a failure: "NotFound"; or NULL */
    int64_t retry_after_s; /* of a failure: the Retry-After of the server; or
                            * 0 */
    char *text;            /* the body; never NULL after a run */
    size_t length;
    const struct object *object; /* or NULL */
    char *continue_token;        /* of a list, or NULL */
    char **warnings;             /* NULL-terminated, or NULL */
};

/* Life */
void sync_call_fini(struct sync_call *sync_call);
#define CLEANUP_SYNC_CALL CLEANUP(sync_call_fini)

/* Runs the call: 0, or the result of client_reply_error. `ret_call` is set in
 * both cases.
 */
int sync_call_run(struct client *client, struct arena *arena TAKES,
                  const struct client_request *request, struct sync_call *ret_call,
                  struct error *err);
