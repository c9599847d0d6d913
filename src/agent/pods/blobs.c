/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/blobs.h"

#include <errno.h>
#include <string.h>

#include "lib/api/kind.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/client/client.h"

#define ROOM_BYTES ((size_t)64 << 20)

struct blob {
    struct list link;    /* among the kept ones, the latest used last */
    struct blobs *blobs; /* NULL when they were freed before its user let go */
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
    struct client_call *call;
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
    f->got(blob, err, f->context);
    free(f->digest);
    free(f);
}

static void
cancel_fetch(struct fetch *f)
{
    struct error err = {0};

    error_set(&err, -ECANCELED, "the agent stops");
    client_cancel(f->call);
    end_fetch(f, NULL, &err);
}

void
blobs_free(struct blobs *b)
{
    if (b == NULL)
        return;
    list_foreach_safe(pos, &b->fetches)
        cancel_fetch(container_of(pos, struct fetch, link));
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

static void
on_fetched(const struct client_reply *reply, void *context)
{
    struct fetch *f = context;
    struct error err = {0};
    const struct blob *blob = NULL;

    if (reply->code != 200)
        client_reply_error(reply, &err);
    else if (!is_content_of(f->digest, reply->text, reply->length))
        error_set(&err,
                  -EBADMSG,
                  "what the controller sent is not what '%s' names",
                  f->digest);
    else
        blob = keep(f->blobs, f->digest, reply->text, reply->length);
    end_fetch(f, blob, &err);
}

void
blobs_get(struct blobs *b,
          const char *namespace,
          const char *job,
          const char *what,
          const char *digest,
          blobs_got_fn *got,
          void *context)
{
    struct blob *kept = map_find(b->kept, digest);
    struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = namespace,
        .name = job,
        .subresource = what,
        .raw = true,
    };
    struct fetch *f;

    if (kept != NULL) {
        got(use(kept), NULL, context);
        return;
    }
    f = xnew(struct fetch);
    f->blobs = b;
    f->digest = xstrdup(digest);
    f->got = got;
    f->context = context;
    list_add_last(&b->fetches, &f->link);
    f->call = client_call(b->client, NULL, &request, on_fetched, f);
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
