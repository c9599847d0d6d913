/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/remote_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/answer_reader.h"
#include "lib/client/api_path.h"
#include "lib/http/http_client.h"
#include "lib/loop/loop.h"

/* Above the size of any object; Kiln's server sends no longer line. */
#define MAX_LINE (64u << 20)

struct remote_watch {
    struct client_watch base;
    struct list place;
    const struct kind *kind;
    bool is_text;           /* another representation was asked for */
    bool is_over;           /* the error event was delivered */
    struct http_call *http; /* NULL once it is done */
    struct strbuf line;     /* the received part of a line */
    bool *was_stopped;      /* set by a stop from inside an event */
    client_event_fn *event;
    void *context;
};

/* Returns false when the receiver stopped the watch. */
static bool
deliver(struct remote_watch *watch, const struct client_event *event)
{
    bool was_stopped = false;

    watch->was_stopped = &was_stopped;
    watch->event(event, watch->context);
    if (was_stopped)
        return false;
    watch->was_stopped = NULL;
    return true;
}

/* Delivers the last event. The HTTP call is cancelled first, so that no event
 * can follow.
 */
static bool
deliver_end(struct remote_watch *watch, const struct status *status, const struct error *err)
{
    if (watch->http != NULL)
        http_call_cancel(watch->http);
    watch->http = NULL;
    watch->is_over = true;
    return deliver(watch,
                   &(struct client_event){.type = CLIENT_ERROR, .status = status, .error = err});
}

static bool
event_type_of(const char *name, enum client_event_type *ret_type)
{
    static const struct {
        const char *name;
        enum client_event_type type;
    } types[] = {
        {"ADDED", CLIENT_ADDED},       {"MODIFIED", CLIENT_MODIFIED}, {"DELETED", CLIENT_DELETED},
        {"BOOKMARK", CLIENT_BOOKMARK}, {"ERROR", CLIENT_ERROR},
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            *ret_type = types[i].type;
            return true;
        }
    return false;
}

static bool
take_event(struct remote_watch *watch, const struct answer_reader *reading, const char *type_name,
           const char *text, size_t length)
{
    struct client_event event = {
        .object = reading->object,
        .resource_version = reading->resource_version,
    };

    if (!event_type_of(type_name, &event.type))
        return true; /* unknown type, from a newer server: ignore it */
    if (event.type == CLIENT_ERROR)
        return deliver_end(watch, reading->has_status ? &reading->status : NULL, NULL);
    if (watch->is_text) {
        event.text = text;
        event.length = length;
    } else if (event.object == NULL && event.type != CLIENT_BOOKMARK) {
        return true;
    }
    return deliver(watch, &event);
}

static bool
take_line(struct remote_watch *watch, const char *text, size_t length)
{
    CLEANUP_ANSWER_READER struct answer_reader reading = {0};
    const char *type = NULL;
    struct error err = {0};
    int r;

    if (length == 0)
        return true;
    r = answer_reader_read_frame(watch->kind, text, length, &reading, &type, &err);
    if (r < 0) {
        error_wrap(&err, r, "the server's watch cannot be read");
        return deliver_end(watch, NULL, &err);
    }
    return take_event(watch, &reading, type, text, length);
}

static void
watch_data(const void *bytes, size_t length, void *arg)
{
    struct remote_watch *watch = arg;
    const char *p = bytes;
    const char *end = p + length;

    while (p < end && !watch->is_over) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        struct strbuf line;
        bool goes_on;

        if (newline == NULL) {
            strbuf_add(&watch->line, p, (size_t)(end - p));
            break;
        }
        strbuf_add(&watch->line, p, (size_t)(newline - p));
        p = newline + 1;
        /* Take the line out of the watch: the event function may stop and free
         * the watch.
         */
        line = watch->line;
        strbuf_init(&watch->line);
        goes_on = take_line(watch, line.text, line.length);
        strbuf_fini(&line);
        if (!goes_on)
            return;
    }
    if (watch->line.length > MAX_LINE && !watch->is_over) {
        struct error err = {0};

        error_set(&err, -EPROTO, "the server's watch contains a line that is too long");
        deliver_end(watch, NULL, &err);
    }
}

static void
watch_done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct remote_watch *watch = arg;
    CLEANUP_ANSWER_READER struct answer_reader reading = {0};
    struct error lost = {0};

    watch->http = NULL;
    if (answer == NULL) {
        deliver_end(watch, NULL, err);
        return;
    }
    if (answer->status >= 200 && answer->status < 300) {
        error_set(&lost, -ECONNRESET, "the server ended the watch");
        deliver_end(watch, NULL, &lost);
        return;
    }
    answer_reader_read(watch->kind, answer->body, answer->length, &reading, NULL);
    if (!reading.has_status) {
        reading.status.code = answer->status;
        reading.status.reason = reading.status.message = NULL;
    }
    deliver_end(watch, &reading.status, NULL);
}

struct client_watch *
remote_watch_start(struct client *client, const struct client_watch_request *request,
                   client_event_fn *event, void *context)
{
    struct remote *remote = remote_of(client);
    struct remote_watch *watch = xnew(struct remote_watch);
    CLEANUP_STRBUF struct strbuf target = STRBUF_INIT;
    const struct http_header headers[] = {
        {"Accept", request->accept != NULL ? request->accept : "application/json"},
    };
    const struct http_client_request question = {
        .method = HTTP_GET,
        .headers = headers,
        .n_headers = ARRAY_SIZE(headers),
        .data = watch_data,
        .done = watch_done,
        .arg = watch,
    };
    struct http_client_request asked = question;

    watch->base.client = client;
    watch->kind = request->kind;
    watch->is_text = request->accept != NULL;
    watch->event = event;
    watch->context = context;
    strbuf_init(&watch->line);
    list_add_last(&remote->watches, &watch->place);
    api_path_of_watch(request, &target);
    asked.target = target.text;
    watch->http = http_client_call(remote->http, &asked);
    return &watch->base;
}

void
remote_watch_stop(struct client_watch *base)
{
    struct remote_watch *watch = container_of(base, struct remote_watch, base);

    if (watch->was_stopped != NULL)
        *watch->was_stopped = true;
    if (watch->http != NULL)
        http_call_cancel(watch->http);
    list_remove(&watch->place);
    strbuf_fini(&watch->line);
    free(watch);
}

void
remote_watch_stop_all(struct remote *remote)
{
    list_foreach_safe(place, &remote->watches)
        remote_watch_stop(&container_of(place, struct remote_watch, place)->base);
}
