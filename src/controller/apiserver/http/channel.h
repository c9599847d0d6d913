/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - a stream to one client, sealed frame by frame where its session
 * asks for that
 *
 * Keeps in order what the client has not taken yet, and sends it as there is
 * room: what is given in one turn of the loop goes together, at its end. How
 * much may wait is for its user to say.
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
    void (*closed)(void *context);  /* the client went, or was too slow; the
                                       channel must still be freed */
    void (*drained)(void *context); /* the queue is empty; or NULL */
    void *context;
};

/* Life. Open answers the request with a stream. The grant may be NULL. Free
 * ends the stream; what is queued is still delivered. Cut frees it, and its
 * client sees that there was more to come.
 */
void channel_free(struct channel *channel);
void channel_cut(struct channel *channel);
struct channel *channel_open(struct dispatch *dispatch,
                             struct http_request *http TAKES,
                             struct auth_grant *grant TAKES,
                             const char *content_type,
                             const struct channel_callbacks *callbacks);

/* Change. The flush is the dispatch's. */
void channel_send(struct channel *channel, struct frame *frame);
void channel_flush(struct dispatch_entry *entry);

/* Look */
size_t channel_waiting(const struct channel *channel); /* frames */
