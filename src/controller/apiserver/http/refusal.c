/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/refusal.h"

#include <stddef.h>

#include "controller/apiserver/request/reply.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static const char *
reason_of(int status)
{
    switch (status) {
    case 400:
        return "BadRequest";
    case 413:
        return "RequestEntityTooLarge";
    case 503:
        return "ServiceUnavailable";
    default: /* upstream has no reason for it */
        return NULL;
    }
}

const char *
refusal_word(int status, const char *why, struct strbuf *out, void *arg)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(1024);
    struct reply reply;

    (void)arg;
    reply_init(&reply, arena);
    reply_fail(&reply, &(struct reply_failure){.code = status,
                                               .reason = reason_of(status),
                                               .message = why,
                                               .retry_after_s = status == 503});
    json_print(reply.tree, out);
    reply_fini(&reply);
    return "application/json";
}
