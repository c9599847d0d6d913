/* SPDX-License-Identifier: Apache-2.0 */
/* remote_watch.h - the watches of a remote client: turns lines of a stream into
 * events
 *
 * Called by:  only remote.c, whose struct is declared here.
 * Thread:     the loop's.
 */
#pragma once

#include "lib/base/list.h"
#include "lib/client/client.h"

struct http_client;
struct remote_reports;

struct remote {
    struct client base;
    struct http_client *http;
    struct list calls;
    struct list watches;
    struct remote_reports *reports; /* NULL: none was sent yet */
};

static inline struct remote *
remote_of(struct client *client)
{
    return container_of(client, struct remote, base);
}

struct client_watch *remote_watch_start(struct client *client,
                                        const struct client_watch_request *request,
                                        client_event_fn *event, void *context);
void remote_watch_stop(struct client_watch *base);
void remote_watch_stop_all(struct remote *remote);
