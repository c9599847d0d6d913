/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/sync_call.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/loop/loop.h"

struct waiting {
    struct client *client;
    struct sync_call *sync_call;
    struct error *err;
    int result;
};

static char **
dup_texts(const char *const *texts)
{
    char **copies;
    size_t n = 0;

    if (texts == NULL)
        return NULL;
    while (texts[n] != NULL)
        n++;
    copies = xnew_array(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copies[i] = xstrdup(texts[i]);
    return copies;
}

static char *
dup_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

static void
sync_call_done(const struct client_reply *reply, void *context)
{
    struct waiting *w = context;
    struct sync_call *sync_call = w->sync_call;

    w->result = client_reply_error(reply, w->err);
    sync_call->code = reply->code;
    if (reply->status != NULL) {
        sync_call->reason = dup_or_null(reply->status->reason);
        sync_call->retry_after_s = reply->status->details.retry_after_s;
    }
    sync_call->length = reply->text != NULL ? reply->length : 0;
    sync_call->text = xmalloc(sync_call->length + 1);
    if (sync_call->length > 0)
        memcpy(sync_call->text, reply->text, sync_call->length);
    sync_call->text[sync_call->length] = '\0';
    if (reply->object != NULL)
        sync_call->object = object_ref(reply->object);
    sync_call->continue_token = dup_or_null(reply->continue_token);
    sync_call->warnings = dup_texts(reply->warnings);
    loop_stop(w->client->loop);
}

int
sync_call_run(struct client *client, struct arena *arena TAKES,
              const struct client_request *request, struct sync_call *ret_call, struct error *err)
{
    struct waiting waiting = {
        .client = client,
        .sync_call = ret_call,
        .err = err,
    };

    memset(ret_call, 0, sizeof(*ret_call));
    client_call(client, arena, request, sync_call_done, &waiting);
    loop_run(client->loop);
    return waiting.result;
}

void
sync_call_fini(struct sync_call *sync_call)
{
    free(sync_call->reason);
    free(sync_call->text);
    object_unref(sync_call->object);
    free(sync_call->continue_token);
    for (char **w = sync_call->warnings; w != NULL && *w != NULL; w++)
        free(*w);
    free(sync_call->warnings);
    memset(sync_call, 0, sizeof(*sync_call));
}
