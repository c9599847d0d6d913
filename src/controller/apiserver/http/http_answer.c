/* SPDX-License-Identifier: Apache-2.0 */
/* A list of everything takes a second to write, and every other client would wait for it. So
 * it is written in slices at one revision, as frames that are given away when they are full;
 * the digest grows with the frames, so the whole text never exists. An answer that cannot be
 * sealed is not sent at all: the client could not tell it from a forged one.
 */
#include "controller/apiserver/http/http_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/http/render.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/request/view.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/http/http_request.h"

#define AT_ONCE        500 /* most objects written without a time slice */
#define PER_GO         32  /* objects written in one call of a slice */
#define AT_ONCE_SLOWLY 8   /* the same in YAML or indented JSON */
#define PER_GO_SLOWLY  4
#define FRAME_BYTES    (256u << 10) /* of a long answer; freed when sent */

struct http_answer {
    struct time_slice time_slice;
    struct request *q;
    struct http_request *http;
    struct auth_grant *grant;
    struct view view;
    size_t written; /* objects of the list so far */
    struct frame **frames;
    size_t n_frames, capacity;
    struct digest_sum *sum; /* of the frames; only with a grant */
    struct digest digest;
};

static void
http_answer_free(struct http_answer *d)
{
    request_free(d->q);
    if (d->grant != NULL)
        auth_grant_free(d->grant);
    for (size_t i = 0; i < d->n_frames; i++)
        frame_unref(d->frames[i]);
    free(d->frames);
    free(d);
}

static void
add_headers(struct http_answer *d)
{
    const struct reply *r = &d->q->reply;
    char text[1024];

    for (size_t i = 0; i < r->n_warnings; i++) {
        /* The text is a quoted string: quotes and backslashes are escaped. */
        char *to = text + snprintf(text, sizeof(text), "299 - \"");

        for (const char *c = r->warnings[i]; *c != '\0' && to < text + sizeof(text) - 4; c++) {
            if (*c == '"' || *c == '\\')
                *to++ = '\\';
            *to++ = *c;
        }
        strcpy(to, "\"");
        http_request_add_header(d->http, "Warning", text);
    }
    for (size_t i = 0; i < r->n_headers; i++)
        http_request_add_header(d->http, r->headers[i].name, r->headers[i].value);
    if (r->retry_after_s > 0) {
        snprintf(text, sizeof(text), "%d", (int)r->retry_after_s);
        http_request_add_header(d->http, "Retry-After", text);
    }
}

static const char *
content_type(const struct http_answer *d)
{
    const struct reply *r = &d->q->reply;

    if (r->form == REPLY_TEXT)
        return r->content_type;
    if (r->form == REPLY_NONE)
        return NULL;
    return d->view.accept.is_yaml ? "application/yaml" : "application/json";
}

static void
send_frames(struct http_answer *d)
{
    struct http_piece *pieces;
    size_t count = 0;

    for (size_t i = 0; i < d->n_frames; i++)
        count += frame_count_pieces(d->frames[i]);
    pieces = xnew_array(struct http_piece, count + 1);
    count = 0;
    for (size_t i = 0; i < d->n_frames; i++) {
        frame_take_pieces(d->frames[i], &pieces[count]);
        count += frame_count_pieces(d->frames[i]);
    }
    http_request_reply_pieces(d->http, d->q->reply.code, content_type(d), pieces, count);
    free(pieces);
    http_answer_free(d);
}

static void
sealed(const char *name, const char *value, const struct error *err, void *arg)
{
    struct http_answer *d = arg;

    if (err != NULL) {
        /* Without a seal the client could not trust the answer: send none. */
        log_warning("cannot sign an answer: %s", err->text);
        http_request_reply(d->http, 503, "text/plain; charset=utf-8", err->text, strlen(err->text));
        http_answer_free(d);
        return;
    }
    if (name != NULL)
        http_request_add_header(d->http, name, value);
    send_frames(d);
}

static void
finish(struct http_answer *d)
{
    add_headers(d);
    if (d->grant == NULL) {
        send_frames(d);
        return;
    }
    digest_sum_end(d->sum, &d->digest);
    d->sum = NULL;
    auth_grant_seal(d->grant, d->q->reply.code, content_type(d) != NULL ? content_type(d) : "",
                    &d->digest, sealed, d);
}

static struct frame *
add_frame(struct http_answer *d)
{
    xgrow(d->frames, d->n_frames, d->capacity);
    return d->frames[d->n_frames++] = frame_new();
}

/* The last frame is complete. Its parts are copied together, because small
 * parts cost more by reference: each has a chain of its own until it is sent.
 */
static void
end_frame(struct http_answer *d)
{
    frame_flatten(d->frames[d->n_frames - 1]);
    if (d->sum != NULL)
        frame_add_to_sum(d->frames[d->n_frames - 1], d->sum);
}

static bool
is_slow(const struct http_answer *d)
{
    return d->view.accept.is_yaml || d->view.accept.is_pretty;
}

static bool
write_some(struct time_slice *time_slice)
{
    struct http_answer *d = container_of(time_slice, struct http_answer, time_slice);
    struct reply *reply = &d->q->reply;
    struct frame *frame = d->n_frames > 0 ? d->frames[d->n_frames - 1] : add_frame(d);
    size_t from = d->written;
    /* When the client has gone, the rest is not written. */
    bool more = !http_request_is_closed(d->http)
                && render_list_some(frame, &d->view, reply, &d->written,
                                    is_slow(d) ? PER_GO_SLOWLY : PER_GO);

    reply_drop_objects(reply, from, d->written);
    if (more && frame_length(frame) < FRAME_BYTES)
        return true;
    end_frame(d);
    if (more)
        (void)add_frame(d);
    else
        finish(d);
    return more;
}

static bool
is_long(const struct http_answer *d)
{
    return d->q->reply.form == REPLY_LIST
           && d->q->reply.n_objects > (is_slow(d) ? AT_ONCE_SLOWLY : AT_ONCE);
}

void
http_answer_start(struct request *q, const struct view *view, struct http_request *http,
                  struct auth_grant *grant)
{
    struct http_answer *d = xnew(struct http_answer);

    d->q = q;
    d->http = http;
    d->grant = grant;
    d->view = *view;
    d->view.now_us = clock_real_us(q->server->clock);
    d->view.east_s = q->options.has_east ? &q->options.east_s : NULL;
    if (grant != NULL)
        d->sum = digest_sum_begin();
    render_check(&d->view, &q->reply);
    if (is_long(d)) {
        time_slices_add(q->server->time_slices, &d->time_slice, write_some);
        return;
    }
    render_reply(add_frame(d), &d->view, &q->reply);
    end_frame(d);
    finish(d);
}
