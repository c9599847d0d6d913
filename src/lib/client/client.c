/* SPDX-License-Identifier: Apache-2.0 */
/* A reply without an answer (no socket, no route) must never look like "there is no such
 * object": callers delete or create because of that. So errors of the connection have codes of
 * their own.
 */
#include "lib/client/client.h"

#include <errno.h>
#include <string.h>

#include "lib/api/object/status.h"
#include "lib/base/error.h"

void
client_free(struct client *client)
{
    if (client != NULL)
        client->ops->free(client);
}

struct client_call *
client_call(struct client *client, struct arena *arena TAKES, const struct client_request *request,
            client_done_fn *done, void *context)
{
    return client->ops->call(client, arena, request, done, context);
}

void
client_cancel(struct client_call *call)
{
    if (call != NULL)
        call->client->ops->cancel(call);
}

bool
client_call_waits(struct client_call *call)
{
    return call->client->ops->waits != NULL && call->client->ops->waits(call);
}

void
client_abandon(struct client *client)
{
    client->ops->abandon(client);
}

struct client_watch *
client_watch(struct client *client, const struct client_watch_request *request,
             client_event_fn *event, void *context)
{
    return client->ops->watch(client, request, event, context);
}

void
client_stop(struct client_watch *watch)
{
    if (watch != NULL)
        watch->client->ops->stop(watch);
}

void
client_respond(struct client *client, client_respond_fn *respond, void *context)
{
    if (client->ops->respond != NULL)
        client->ops->respond(client, respond, context);
}

/* The reverse of the table in controller/apiserver. */
static int
errno_of(int code, const char *reason)
{
    switch (code) {
    case 400:
    case 422:
        return -EINVAL;
    case 401:
    case 403:
        return -EACCES;
    case 404:
        return -ENOENT;
    case 405:
    case 501:
        return -EOPNOTSUPP;
    case 408:
    case 504:
        return -ETIMEDOUT;
    case 409:
        return reason != NULL && strcmp(reason, "AlreadyExists") == 0 ? -EEXIST : -ESTALE;
    case 410:
        return -ESTALE;
    case 413:
        return -EFBIG;
    case 429:
    case 503:
        return -EAGAIN;
    case 507:
        return -ENOSPC;
    default:
        return -EREMOTEIO;
    }
}

/* Without an answer, -ENOENT and -ENOTDIR are about the server's socket. They
 * must not be taken for an object that does not exist.
 */
static int
errno_without_answer(int code)
{
    if (code == -ENOENT || code == -ENOTDIR)
        return -EHOSTUNREACH;
    return code < 0 ? code : -EREMOTEIO;
}

bool
client_reply_is_final(const struct client_reply *reply)
{
    return reply->code != 0 && reply->code != 401 && reply->code != 408 && reply->code != 429
           && (reply->code < 500 || reply->code == 501);
}

int
client_reply_error(const struct client_reply *reply, struct error *err)
{
    const char *reason = NULL;
    int r;

    if (reply->code >= 200 && reply->code < 300)
        return 0;
    if (reply->code == 0) {
        if (reply->error == NULL)
            return error_set(err, -EREMOTEIO, "no answer came");
        r = errno_without_answer(reply->error->code);
        return error_set(err, r, "%s", reply->error->text);
    }
    if (reply->status != NULL)
        reason = reply->status->reason;
    r = errno_of(reply->code, reason);
    if (reply->status != NULL && reply->status->message != NULL
        && reply->status->message[0] != '\0')
        return error_set(err, r, "%s", reply->status->message);
    return error_set(err, r, "the server answered with HTTP status %d", reply->code);
}
