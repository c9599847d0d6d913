/* SPDX-License-Identifier: Apache-2.0 */
/* step_channel.h - a step's connection as bytes: plain on the own node, sealed to
 * another one
 *
 * Its users send and receive frames with calls like those of a socket. Bytes that
 * were accepted may have to be flushed, and bytes that have left the socket may wait
 * here. So receive until -EAGAIN, and flush when the socket can take more.
 *
 * Owns:   the keys; not the descriptor.
 * Thread: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/strbuf.h"

struct sealed_direction;
struct step_keys;

struct step_channel {
    int fd;
    struct sealed_direction *out_keys, *in_keys; /* NULL: plain */
    struct strbuf out;                           /* sealed bytes, and how many were sent */
    size_t sent;
    /* Bytes of the socket: the text of the open record, and from record_end on what
     * follows it.
     */
    unsigned char *in;
    size_t in_length, text_at, text_length, record_end;
    /* Whether the other machine answers. */
    bool has_sent;
    int64_t look_ms, silent_ms; /* the next look; since when nothing is answered; 0: none */
};

/* Life. `keys` is NULL for a plain connection. Keys gives the keys for another
 * process that goes on with the connection; only while nothing is on its way here; false: it is
 * plain.
 */
void step_channel_init(struct step_channel *c, int fd, const struct step_keys *keys);
void step_channel_fini(struct step_channel *c);
void step_channel_rest(struct step_channel *c); /* gives memory back, if nothing is here */
bool step_channel_keys(const struct step_channel *c, struct step_keys *ret_keys);

/* Receive returns the number of bytes, 0 at the end, or a negative errno:
 * -EAGAIN when nothing is here now; -EKEYREJECTED and -EPROTO when what came was
 * not sent by the peer. Send returns how many bytes it has taken, or a negative errno:
 * -EAGAIN when it can take none now.
 */
ssize_t step_channel_receive(struct step_channel *c, void *to, size_t room);
ssize_t step_channel_send(struct step_channel *c, const void *from, size_t length);
int step_channel_flush(struct step_channel *c);

/* Looks whether the kernel of the other machine still answers, and returns the milliseconds
 * until it has to look again: -1 when nothing is unanswered, -ETIMEDOUT after STEP_LOST_MS
 * without an answer. A process that is stopped takes nothing, but its kernel answers; so
 * this is not TCP_USER_TIMEOUT, which ends a connection to such a process, too.
 */
int step_channel_check(struct step_channel *c, int64_t now_ms);

/* Whether everything that was taken has left; whether the other kernel has it, so that
 * nothing is lost when this one gets bytes for a process that has ended; and whether more can
 * be received although the socket may have nothing.
 */
bool step_channel_is_flushed(const struct step_channel *c);
bool step_channel_is_received(const struct step_channel *c);
bool step_channel_has_bytes(const struct step_channel *c);
