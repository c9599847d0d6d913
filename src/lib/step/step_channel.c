/* SPDX-License-Identifier: Apache-2.0 */
/* On the own node the kernel says who is there and nobody can listen, so bytes go as they are;
 * to another node they are sealed. Users of a channel see only bytes: that some have been
 * accepted and not sent, or received and not opened, is kept here, and is why they must flush,
 * and receive until there is nothing more.
 */
#include "lib/step/step_channel.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/auth/sealed_records.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/step/step_frames.h"

#define RECORD_MOST (SEALED_TEXT_MOST + SEALED_OVERHEAD)
#define IN_SIZE     (2 * RECORD_MOST)

void
step_channel_init(struct step_channel *c, int fd, const struct step_keys *keys)
{
    *c = (struct step_channel){.fd = fd};
    strbuf_init(&c->out);
    if (keys == NULL)
        return;
    c->out_keys = sealed_direction_new(&keys->out);
    c->in_keys = sealed_direction_new(&keys->in);
}

void
step_channel_fini(struct step_channel *c)
{
    sealed_direction_free(c->out_keys);
    sealed_direction_free(c->in_keys);
    strbuf_fini(&c->out);
    free(c->in);
    *c = (struct step_channel){.fd = -1};
}

bool
step_channel_keys(const struct step_channel *c, struct step_keys *ret_keys)
{
    if (c->out_keys == NULL)
        return false;
    sealed_direction_state(c->out_keys, &ret_keys->out);
    sealed_direction_state(c->in_keys, &ret_keys->in);
    return true;
}

void
step_channel_rest(struct step_channel *c)
{
    if (c->text_length > 0 || c->in_length > c->record_end)
        return;
    free(c->in);
    c->in = NULL;
    c->in_length = c->record_end = 0;
}

static ssize_t
receive_raw(const struct step_channel *c, void *to, size_t room)
{
    ssize_t n;

    do
        n = recv(c->fd, to, room, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static ssize_t
send_raw(struct step_channel *c, const void *from, size_t length)
{
    ssize_t n;

    do
        n = send(c->fd, from, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    c->has_sent = true;
    return n < 0 ? -errno : n;
}

/* Room for a whole record. The bytes here are less than one, and move to the front only
 * when there is no room behind it: small records would otherwise move each byte often.
 */
static void
make_room(struct step_channel *c)
{
    if (IN_SIZE - c->in_length >= RECORD_MOST)
        return;
    memmove(c->in, c->in + c->record_end, c->in_length - c->record_end);
    c->in_length -= c->record_end;
    c->record_end = 0;
}

/* 1: there is text; 0: the peer has ended; or a negative errno. A connection that
 * ends inside a record has lost bytes.
 */
static ssize_t
open_record(struct step_channel *c)
{
    if (c->in == NULL)
        c->in = xmalloc(IN_SIZE);
    for (;;) {
        unsigned char *text;
        ssize_t n = sealed_open(c->in_keys, c->in + c->record_end, c->in_length - c->record_end,
                                &text, &c->text_length, NULL);

        if (n > 0) {
            c->text_at = (size_t)(text - c->in);
            c->record_end += (size_t)n;
            return 1;
        }
        if (n < 0)
            return n;
        make_room(c);
        n = receive_raw(c, c->in + c->in_length, IN_SIZE - c->in_length);
        if (n == 0 && c->in_length > c->record_end)
            return -ECONNRESET;
        if (n <= 0)
            return n;
        c->in_length += (size_t)n;
    }
}

ssize_t
step_channel_receive(struct step_channel *c, void *to, size_t room)
{
    size_t length;

    if (c->in_keys == NULL)
        return receive_raw(c, to, room);
    if (c->text_length == 0) {
        ssize_t n = open_record(c);

        if (n <= 0)
            return n;
    }
    length = c->text_length < room ? c->text_length : room;
    memcpy(to, c->in + c->text_at, length);
    c->text_at += length;
    c->text_length -= length;
    return (ssize_t)length;
}

int
step_channel_flush(struct step_channel *c)
{
    while (c->sent < c->out.length) {
        ssize_t n = send_raw(c, c->out.text + c->sent, c->out.length - c->sent);

        if (n < 0)
            return (int)n;
        c->sent += (size_t)n;
    }
    strbuf_truncate(&c->out, 0);
    c->sent = 0;
    return 0;
}

ssize_t
step_channel_send(struct step_channel *c, const void *from, size_t length)
{
    int r;

    if (c->out_keys == NULL)
        return send_raw(c, from, length);
    r = step_channel_flush(c);
    if (r < 0)
        return r;
    if (length > SEALED_TEXT_MOST)
        length = SEALED_TEXT_MOST;
    sealed_seal(c->out_keys, from, length, &c->out);
    r = step_channel_flush(c);
    return r < 0 && r != -EAGAIN ? r : (ssize_t)length;
}

/* Whether the other kernel has answered what was sent last. One whose process reads
 * nothing may drop data for lack of memory, so that it is sent again and again; it
 * acknowledges each time what it has had before.
 */
static bool
is_answered(const struct tcp_info *info)
{
    return info->tcpi_probes == 0
           && (info->tcpi_retransmits == 0
               || info->tcpi_last_ack_recv <= info->tcpi_last_data_sent);
}

/* A connection on this machine ends with its peer. */
int
step_channel_check(struct step_channel *c, int64_t now_ms)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);
    bool is_received;

    if (!c->has_sent || c->out_keys == NULL)
        return -1;
    if (c->look_ms == 0)
        c->look_ms = now_ms + STEP_LOOK_MS;
    if (now_ms < c->look_ms)
        return (int)(c->look_ms - now_ms);
    c->look_ms = now_ms + STEP_LOOK_MS;
    is_received = step_channel_is_received(c);
    if (is_received || getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) {
        c->has_sent = false;
        c->look_ms = c->silent_ms = 0;
        return -1;
    }
    if (is_answered(&info))
        c->silent_ms = 0;
    else if (c->silent_ms == 0)
        c->silent_ms = now_ms;
    return c->silent_ms != 0 && now_ms - c->silent_ms >= STEP_LOST_MS ? -ETIMEDOUT : STEP_LOOK_MS;
}

bool
step_channel_is_flushed(const struct step_channel *c)
{
    return c->sent == c->out.length;
}

/* Bytes for a process of this machine are the other socket's at once. */
bool
step_channel_is_received(const struct step_channel *c)
{
    int queued = 0; /* bytes that were not acknowledged, also those not sent yet */

    return c->out_keys == NULL
           || (step_channel_is_flushed(c) && (ioctl(c->fd, SIOCOUTQ, &queued) < 0 || queued == 0));
}

bool
step_channel_has_bytes(const struct step_channel *c)
{
    return c->text_length > 0
           || (c->in != NULL
               && sealed_is_complete(c->in + c->record_end, c->in_length - c->record_end));
}
