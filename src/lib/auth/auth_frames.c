/* SPDX-License-Identifier: Apache-2.0 */
/* auth_frames.c - reads an authenticated stream: "mac LENGTH HEX\n", LENGTH
 * bytes, and so on until "end HEX\n"
 */
#include <errno.h>
#include <string.h>

#include "lib/auth/auth_client.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* No head is as long as this; a frame is an object or a piece of a log. */
enum { LONGEST_HEAD = 128, LARGEST_FRAME = 64 << 20 };

struct auth_frames {
    struct digest key;
    uint64_t seq;
    uint64_t n_frames;
    auth_frame_fn fn;
    void *arg;
    struct strbuf waiting;
    size_t frame_length; /* of the frame whose head was read last */
    struct digest mac;   /* the MAC of that frame */
    bool is_in_frame;
    bool has_ended;
};

void
auth_frames_free(struct auth_frames *f)
{
    if (f == NULL)
        return;
    strbuf_fini(&f->waiting);
    explicit_bzero(&f->key, sizeof(f->key));
    free(f);
}

struct auth_frames *
auth_frames_new(const struct auth_line *line, uint64_t seq, auth_frame_fn fn, void *arg)
{
    struct auth_frames *f = xnew(struct auth_frames);

    f->key = line->key;
    f->seq = seq;
    f->fn = fn;
    f->arg = arg;
    strbuf_init(&f->waiting);
    return f;
}

static int
reject(struct error *err, const char *why)
{
    return error_set(err, -EKEYREJECTED,
                     "the stream carries no valid proof that it is the "
                     "controller's (%s)",
                     why);
}

static int
check_end(struct auth_frames *f, const char *hex, struct error *err)
{
    struct digest expected;

    protocol_end_mac(&f->key, f->seq, f->n_frames, &expected);
    if (digest_parse(hex, &f->mac) < 0 || !digest_equals(&f->mac, &expected))
        return reject(err, "a wrong end");
    f->has_ended = true;
    return 0;
}

static int
parse_head(struct auth_frames *f, char *head, struct error *err)
{
    char *rest = NULL;
    unsigned long length;

    if (strncmp(head, "end ", 4) == 0)
        return check_end(f, head + 4, err);
    if (strncmp(head, "mac ", 4) != 0 || head[4] < '0' || head[4] > '9')
        return reject(err, "no MAC");
    length = strtoul(head + 4, &rest, 10);
    if (length > LARGEST_FRAME || *rest != ' ' || digest_parse(rest + 1, &f->mac) < 0)
        return reject(err, "malformed MAC");
    f->frame_length = length;
    f->is_in_frame = true;
    return 0;
}

/* Consumes one head from the bytes; returns 1 if it was complete, 0 if not. */
static int
take_head(struct auth_frames *f, const char **bytes, size_t *length, struct error *err)
{
    const char *end = memchr(*bytes, '\n', *length);
    char head[LONGEST_HEAD];
    size_t n;
    int r;

    n = end != NULL ? (size_t)(end - *bytes) : *length;
    if (n >= sizeof(head))
        return reject(err, "no MAC");
    if (end == NULL)
        return 0;
    memcpy(head, *bytes, n);
    head[n] = '\0';
    r = parse_head(f, head, err);
    if (r < 0)
        return r;
    *bytes += n + 1;
    *length -= n + 1;
    return 1;
}

static int
take_frame(struct auth_frames *f, const char **bytes, size_t *length, struct error *err)
{
    struct digest digest, expected;
    const char *frame = *bytes;

    if (*length < f->frame_length)
        return 0;
    digest_of(frame, f->frame_length, &digest);
    protocol_frame_mac(&f->key, f->seq, f->n_frames + 1, &digest, &expected);
    if (!digest_equals(&expected, &f->mac))
        return reject(err, "a frame was changed, omitted or repeated");
    f->n_frames++;
    f->is_in_frame = false;
    *bytes += f->frame_length;
    *length -= f->frame_length;
    f->fn(frame, f->frame_length, f->arg);
    return 1;
}

static int
take_all(struct auth_frames *f, const char **bytes, size_t *length, struct error *err)
{
    int r = 1;

    while (r > 0 && (*length > 0 || f->is_in_frame)) {
        if (f->has_ended)
            return reject(err, "data after its end");
        r = f->is_in_frame ? take_frame(f, bytes, length, err) : take_head(f, bytes, length, err);
    }
    return r < 0 ? r : 0;
}

/* Frames are parsed in place in the caller's bytes when no earlier bytes are
 * buffered. Buffered bytes are moved only when some of them were consumed.
 */
int
auth_frames_feed(struct auth_frames *f, const void *bytes, size_t length, struct error *err)
{
    struct strbuf all = f->waiting;
    const char *at = bytes;
    int r;

    strbuf_init(&f->waiting);
    if (all.length > 0) {
        strbuf_add(&all, bytes, length);
        at = all.text;
        length = all.length;
    }
    r = take_all(f, &at, &length, err);
    if (r == 0 && all.length > 0 && at == all.text) {
        f->waiting = all;
        return 0;
    }
    if (r == 0)
        strbuf_add(&f->waiting, at, length);
    strbuf_fini(&all);
    return r;
}

int
auth_frames_finish(struct auth_frames *f, struct error *err)
{
    if (f->has_ended)
        return 0;
    return error_set(err, -EPIPE, "the stream was cut off before its end");
}
