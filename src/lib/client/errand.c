/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/errand.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/loop/loop.h"

struct waiting {
    struct client *client;
    struct errand *errand;
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
errand_done(const struct client_reply *reply, void *context)
{
    struct waiting *w = context;
    struct errand *errand = w->errand;

    w->result = client_reply_error(reply, w->err);
    errand->code = reply->code;
    if (reply->status != NULL)
        errand->reason = dup_or_null(reply->status->reason);
    errand->length = reply->text != NULL ? reply->length : 0;
    errand->text = xmalloc(errand->length + 1);
    if (errand->length > 0)
        memcpy(errand->text, reply->text, errand->length);
    errand->text[errand->length] = '\0';
    if (reply->object != NULL)
        errand->object = object_ref(reply->object);
    errand->continue_token = dup_or_null(reply->continue_token);
    errand->warnings = dup_texts(reply->warnings);
    loop_stop(w->client->loop);
}

int
errand_run(struct client *client,
           struct arena *arena TAKES,
           const struct client_request *request,
           struct errand *ret_errand,
           struct error *err)
{
    struct waiting waiting = {
        .client = client,
        .errand = ret_errand,
        .err = err,
    };

    memset(ret_errand, 0, sizeof(*ret_errand));
    client_call(client, arena, request, errand_done, &waiting);
    loop_run(client->loop);
    return waiting.result;
}

void
errand_fini(struct errand *errand)
{
    free(errand->reason);
    free(errand->text);
    object_unref(errand->object);
    free(errand->continue_token);
    for (char **w = errand->warnings; w != NULL && *w != NULL; w++)
        free(*w);
    free(errand->warnings);
    memset(errand, 0, sizeof(*errand));
}
