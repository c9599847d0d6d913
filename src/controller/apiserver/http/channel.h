/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - a stream to one client; each frame is sealed when the client's
 * session asks for that
 *
 * A channel keeps, in order, the frames that the client has not read yet, and
 * sends them when there is room. Frames that are added in one turn of the loop
 * are sent together at its end. The channel's user decides how many frames may
 * wait.
 *
 * Owns:    the http_stream, the grant, and the frames in its queue.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct auth_grant;
struct channel;
struct dispatch;
struct dispatch_entry;
struct frame;
struct http_request;

struct channel_callbacks {
    void (*closed)(void *context);  /* the client closed, or read too slowly;
                                     * the channel must still be freed
                                     */
    void (*drained)(void *context); /* the queue is empty; or NULL */
    void *context;
};

/* Life. Open answers the request with a stream. The grant may be NULL. Free sends the queued
 * frames and ends the stream. channel_cut sends them, too, but leaves out the end, so the
 * client sees that the stream is incomplete.
 */
void channel_free(struct channel *channel);
void channel_cut(struct channel *channel);
struct channel *channel_open(struct dispatch *dispatch, struct http_request *http TAKES,
                             struct auth_grant *grant TAKES, const char *content_type,
                             const struct channel_callbacks *callbacks);

/* channel_flush is the function that dispatch calls. */
void channel_send(struct channel *channel, struct frame *frame);
void channel_flush(struct dispatch_entry *entry);

size_t channel_waiting(const struct channel *channel); /* frames */
