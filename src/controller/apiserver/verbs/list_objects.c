/* SPDX-License-Identifier: Apache-2.0 */
/* list_objects.c - GET of a collection: a whole list, or pages that are all
 * read at one revision
 */
#include <string.h>

#include "controller/apiserver/objects/selection.h"
#include "controller/apiserver/request/continue_token.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"

/* At most this many items after a page are counted for remainingItemCount. With
 * more it is omitted, as the API allows.
 */
#define COUNTED 5000

/* Objects examined without a time slice, enough for an ordinary page; and in
 * one call of a slice for longer lists.
 */
#define AT_ONCE          6000
#define AT_ONCE_SELECTED 128 /* checking labels and fields takes longer */
#define PER_GO           500
#define PER_GO_SELECTED  64

struct page {
    struct time_slice time_slice;
    struct request *q;
    int64_t limit; /* 0: none */
    bool counts;   /* `behind` is wanted */
    int64_t behind;
    int64_t revision;
    const struct continue_token *given;
    struct selection_place place;
};

static bool
add_to_page(const struct object *object, void *context)
{
    struct page *page = context;

    if (page->limit == 0 || (int64_t)page->q->reply.n_objects < page->limit) {
        reply_add(&page->q->reply, object);
        return true;
    }
    page->behind++;
    return page->counts && page->behind <= COUNTED;
}

static void
end_page(struct request *q, const struct page *page, int64_t revision)
{
    struct reply *reply = &q->reply;

    reply->revision = revision;
    if (page->behind > 0) {
        struct continue_token token = {.revision = revision};

        object_key(reply->objects[reply->n_objects - 1], token.after);
        reply->continue_token = continue_token_format(q->arena, &token);
        if (page->counts && page->behind <= COUNTED)
            reply->remaining = page->behind;
    }
}

static void
refuse_expired(struct request *q, const struct continue_token *token)
{
    struct reply_failure f = {
        .code = 410,
        .reason = "Expired",
        .message = "The resourceVersion for the provided list is too old.",
    };

    if (token != NULL) {
        struct continue_token fresh = *token;

        fresh.revision = 0;
        f.continue_token = continue_token_format(q->arena, &fresh);
        f.message = "The provided continue parameter is too old to display a "
                    "consistent list result. You can start a new list without the "
                    "continue parameter, or use the continue token in this response "
                    "to retrieve the remainder of the results. Continuing with the "
                    "provided token results in an inconsistent list - objects that "
                    "were created, modified, or deleted between the time the first "
                    "chunk was returned and now may show up in the list.";
    }
    reply_fail(&q->reply, &f);
}

/* Every turn reads the state of the first. Returns true when there is more to
 * read.
 */
static bool
fill_page(struct page *page, size_t most)
{
    struct request *q = page->q;
    int r = selection_visit_some(q, &page->place, page->revision, most, add_to_page, page);

    if (r < 0)
        refuse_expired(q, page->given);
    else if (page->place.after[0] != '\0')
        return true;
    else
        end_page(q, page, page->revision);
    return false;
}

static bool
fill_page_slice(struct time_slice *time_slice)
{
    struct page *page = container_of(time_slice, struct page, time_slice);
    bool more = fill_page(page, page->counts ? PER_GO : PER_GO_SELECTED);

    if (!more)
        request_finish(page->q);
    return more;
}

/* Returns NULL when the request is refused. */
static struct page *
begin(struct request *q)
{
    const struct options *o = &q->options;
    int64_t current = store_revision(q->server->store);
    struct page *page = arena_alloc(q->arena, sizeof(*page));
    struct continue_token token = {0};

    *page = (struct page){
        .q = q,
        .limit = o->resource_version == 0 ? 0 : o->limit,
        .counts = o->labels == NULL && o->fields == NULL,
    };
    if (o->continue_token != NULL) {
        if (continue_token_parse(o->continue_token, &token) < 0) {
            reply_bad_request(&q->reply, "invalid continue token: continue key is not "
                                         "valid: it does not come from this server");
            return NULL;
        }
        page->given = arena_memdup(q->arena, &token, sizeof(token));
    } else if (o->has_exact)
        token.revision = o->resource_version;
    if (o->resource_version > current || token.revision > current) {
        reply_from_future(&q->reply, o->resource_version, current);
        return NULL;
    }
    page->revision = token.revision != 0 ? token.revision : current;
    strcpy(page->place.after, token.after);
    return page;
}

void
verb_list(struct request *q)
{
    struct page *page = begin(q);

    if (page == NULL) {
        request_finish(q);
        return;
    }
    reply_start_list(&q->reply, q->route.kind);
    if (fill_page(page, page->counts ? AT_ONCE : AT_ONCE_SELECTED))
        time_slices_add(q->server->time_slices, &page->time_slice, fill_page_slice);
    else
        request_finish(q);
}
