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
http_answer_free(struct http_answer *a)
{
    request_free(a->q);
    if (a->grant != NULL)
        auth_grant_free(a->grant);
    for (size_t i = 0; i < a->n_frames; i++)
        frame_unref(a->frames[i]);
    free(a->frames);
    free(a);
}

static void
add_headers(struct http_answer *a)
{
    const struct reply *r = &a->q->reply;
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
        http_request_add_header(a->http, "Warning", text);
    }
    for (size_t i = 0; i < r->n_headers; i++)
        http_request_add_header(a->http, r->headers[i].name, r->headers[i].value);
    if (r->retry_after_s > 0) {
        snprintf(text, sizeof(text), "%d", (int)r->retry_after_s);
        http_request_add_header(a->http, "Retry-After", text);
    }
}

static const char *
content_type(const struct http_answer *a)
{
    const struct reply *r = &a->q->reply;

    if (r->form == REPLY_TEXT)
        return r->content_type;
    if (r->form == REPLY_NONE)
        return NULL;
    return a->view.accept.is_yaml ? "application/yaml" : "application/json";
}

static void
send_frames(struct http_answer *a)
{
    struct http_piece *pieces;
    size_t count = 0;

    for (size_t i = 0; i < a->n_frames; i++)
        count += frame_count_pieces(a->frames[i]);
    pieces = xnew_array(struct http_piece, count + 1);
    count = 0;
    for (size_t i = 0; i < a->n_frames; i++) {
        frame_take_pieces(a->frames[i], &pieces[count]);
        count += frame_count_pieces(a->frames[i]);
    }
    http_request_reply_pieces(a->http, a->q->reply.code, content_type(a), pieces, count);
    free(pieces);
    http_answer_free(a);
}

static void
sealed(const char *name, const char *value, const struct error *err, void *arg)
{
    struct http_answer *a = arg;

    if (err != NULL) {
        /* Without a seal the client could not trust the answer: send none. */
        log_warning("cannot sign an answer: %s", err->text);
        http_request_reply(a->http, 503, "text/plain; charset=utf-8", err->text, strlen(err->text));
        http_answer_free(a);
        return;
    }
    if (name != NULL)
        http_request_add_header(a->http, name, value);
    send_frames(a);
}

static void
finish(struct http_answer *a)
{
    add_headers(a);
    if (a->grant == NULL) {
        send_frames(a);
        return;
    }
    digest_sum_end(a->sum, &a->digest);
    a->sum = NULL;
    auth_grant_seal(a->grant, a->q->reply.code, content_type(a) != NULL ? content_type(a) : "",
                    &a->digest, sealed, a);
}

static struct frame *
add_frame(struct http_answer *a)
{
    xgrow(a->frames, a->n_frames, a->capacity);
    return a->frames[a->n_frames++] = frame_new();
}

/* The last frame is complete. Its parts are copied together, because small
 * parts cost more by reference: each has a chain of its own until it is sent.
 */
static void
end_frame(struct http_answer *a)
{
    frame_flatten(a->frames[a->n_frames - 1]);
    if (a->sum != NULL)
        frame_add_to_sum(a->frames[a->n_frames - 1], a->sum);
}

static bool
is_slow(const struct http_answer *a)
{
    return a->view.accept.is_yaml || a->view.accept.is_pretty;
}

static bool
write_some(struct time_slice *time_slice)
{
    struct http_answer *a = container_of(time_slice, struct http_answer, time_slice);
    struct reply *reply = &a->q->reply;
    struct frame *frame = a->n_frames > 0 ? a->frames[a->n_frames - 1] : add_frame(a);
    size_t from = a->written;
    /* When the client has gone, the rest is not written. */
    bool more = !http_request_is_closed(a->http)
                && render_list_some(frame, &a->view, reply, &a->written,
                                    is_slow(a) ? PER_GO_SLOWLY : PER_GO);

    reply_drop_objects(reply, from, a->written);
    if (more && frame_length(frame) < FRAME_BYTES)
        return true;
    end_frame(a);
    if (more)
        (void)add_frame(a);
    else
        finish(a);
    return more;
}

static bool
is_long(const struct http_answer *a)
{
    return a->q->reply.form == REPLY_LIST
           && a->q->reply.n_objects > (is_slow(a) ? AT_ONCE_SLOWLY : AT_ONCE);
}

void
http_answer_start(struct request *q, const struct view *view, struct http_request *http,
                  struct auth_grant *grant)
{
    struct http_answer *a = xnew(struct http_answer);

    a->q = q;
    a->http = http;
    a->grant = grant;
    a->view = *view;
    a->view.now_us = clock_real_us(q->server->clock);
    a->view.east_s = q->options.has_east ? &q->options.east_s : NULL;
    if (grant != NULL)
        a->sum = digest_sum_begin();
    render_check(&a->view, &q->reply);
    if (is_long(a)) {
        time_slices_add(q->server->time_slices, &a->time_slice, write_some);
        return;
    }
    render_reply(add_frame(a), &a->view, &q->reply);
    end_frame(a);
    finish(a);
}
