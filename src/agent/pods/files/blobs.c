/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/blobs.h"

#include <errno.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/loop/timer.h"

#define ROOM_BYTES     ((size_t)64 << 20)
#define AGAIN_FIRST_MS 250
#define AGAIN_MOST_MS  2000

struct blob {
    struct list link;    /* in `order`, least recently used first */
    struct blobs *blobs; /* NULL if freed while the blob was in use */
    unsigned users;
    char *digest;
    char *bytes;
    size_t length;
};

struct blobs {
    struct client *client;
    struct map *kept; /* by digest */
    struct list order;
    struct list fetches;
    size_t bytes;
};

struct fetch {
    struct list link;
    struct blobs *blobs;
    struct client_call *call; /* NULL while it waits for a retry */
    struct timer *again;
    int64_t again_ms;
    char *namespace;
    char *job;
    const char *what;
    char *digest;
    blobs_got_fn *got;
    void *context;
};

struct blobs *
blobs_new(struct client *client)
{
    struct blobs *b = xnew(struct blobs);

    b->client = client;
    b->kept = map_new();
    list_init(&b->order);
    list_init(&b->fetches);
    return b;
}

static void
free_blob(struct blob *blob)
{
    free(blob->digest);
    free(blob->bytes);
    free(blob);
}

static void
drop(struct blob *blob)
{
    list_remove(&blob->link);
    map_remove(blob->blobs->kept, blob->digest);
    blob->blobs->bytes -= blob->length;
    free_blob(blob);
}

static void
end_fetch(struct fetch *f, const struct blob *blob, const struct error *err)
{
    list_remove(&f->link);
    timer_free(f->again);
    f->got(blob, err, f->context);
    free(f->namespace);
    free(f->job);
    free(f->digest);
    free(f);
}

static void
cancel_fetch(struct fetch *f)
{
    struct error err = {0};

    error_set(&err, -ECANCELED, "the agent is stopping");
    if (f->call != NULL)
        client_cancel(f->call);
    end_fetch(f, NULL, &err);
}

void
blobs_free(struct blobs *b)
{
    if (b == NULL)
        return;
    list_foreach_safe(pos, &b->fetches) cancel_fetch(container_of(pos, struct fetch, link));
    list_foreach_safe(pos, &b->order)
    {
        struct blob *blob = container_of(pos, struct blob, link);

        list_remove(&blob->link);
        blob->blobs = NULL;
        if (blob->users == 0)
            free_blob(blob);
    }
    map_free(b->kept);
    free(b);
}

static void
make_room(struct blobs *b)
{
    list_foreach_safe(pos, &b->order)
    {
        struct blob *blob = container_of(pos, struct blob, link);

        if (b->bytes <= ROOM_BYTES)
            return;
        if (blob->users == 0)
            drop(blob);
    }
}

static struct blob *
use(struct blob *blob)
{
    list_remove(&blob->link);
    list_add_last(&blob->blobs->order, &blob->link);
    blob->users++;
    return blob;
}

static struct blob *
keep(struct blobs *b, const char *digest, const char *bytes, size_t length)
{
    struct blob *blob = map_find(b->kept, digest);

    if (blob != NULL)
        return use(blob);
    blob = xnew(struct blob);
    blob->blobs = b;
    blob->digest = xstrdup(digest);
    blob->bytes = xmemdup(bytes, length);
    blob->length = length;
    list_init(&blob->link);
    map_put(b->kept, digest, blob);
    b->bytes += length;
    use(blob);
    make_room(b);
    return blob;
}

static bool
is_content_of(const char *digest, const char *bytes, size_t length)
{
    char hex[DIGEST_HEX_SIZE];
    struct digest d;

    digest_of(bytes, length, &d);
    digest_format(&d, hex);
    return strncmp(digest, "sha256:", 7) == 0 && strcmp(digest + 7, hex) == 0;
}

/* Repeats the request, because a controller outage must not fail a job. */
static void
ask_later(struct fetch *f, const struct client_reply *reply)
{
    struct error err = {0};

    client_reply_error(reply, &err);
    if (f->again_ms == 0)
        log_info("cannot fetch the %s of job '%s/%s' yet: %s; asking until "
                 "the controller answers",
                 f->what, f->namespace, f->job, err.text);
    f->again_ms = backoff_next(f->again_ms, AGAIN_FIRST_MS, AGAIN_MOST_MS);
    timer_start(f->again, f->again_ms);
}

static void
on_fetched(const struct client_reply *reply, void *context)
{
    struct fetch *f = context;
    struct error err = {0};
    const struct blob *blob = NULL;

    f->call = NULL;
    if (!client_reply_is_final(reply)) {
        ask_later(f, reply);
        return;
    }
    if (reply->code != 200)
        client_reply_error(reply, &err);
    else if (!is_content_of(f->digest, reply->text, reply->length))
        error_set(&err, -EBADMSG, "the content that the controller sent does not match '%s'",
                  f->digest);
    else
        blob = keep(f->blobs, f->digest, reply->text, reply->length);
    end_fetch(f, blob, &err);
}

static void
ask(void *context)
{
    struct fetch *f = context;
    struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = f->namespace,
        .name = f->job,
        .subresource = f->what,
        .raw = true,
    };

    f->call = client_call(f->blobs->client, NULL, &request, on_fetched, f);
}

void
blobs_get(struct blobs *b, const char *namespace, const char *job, const char *what,
          const char *digest, blobs_got_fn *got, void *context)
{
    struct blob *kept = map_find(b->kept, digest);
    struct fetch *f;

    if (kept != NULL) {
        got(use(kept), NULL, context);
        return;
    }
    f = xnew(struct fetch);
    f->blobs = b;
    f->again = timer_new(b->client->loop, ask, f);
    f->namespace = xstrdup(namespace);
    f->job = xstrdup(job);
    f->what = what;
    f->digest = xstrdup(digest);
    f->got = got;
    f->context = context;
    list_add_last(&b->fetches, &f->link);
    ask(f);
}

const char *
blob_bytes(const struct blob *blob)
{
    return blob->bytes;
}

size_t
blob_length(const struct blob *blob)
{
    return blob->length;
}

void
blob_release(const struct blob *blob)
{
    union {
        const struct blob *in;
        struct blob *out;
    } u = {.in = blob};

    if (blob == NULL)
        return;
    u.out->users--;
    if (u.out->blobs != NULL)
        make_room(u.out->blobs);
    else if (u.out->users == 0)
        free_blob(u.out);
}
