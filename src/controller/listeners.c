/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/listeners.h"

#include <stdatomic.h>

#include "controller/apiserver/apiserver.h"
#include "controller/serving_keys.h"
#include "controller/settings.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_server.h"

/* Everybody may connect: the kernel tells the peer's uid, and rights are
 * checked later.
 */
#define SOCKET_MODE 0666

static int
listen_tls(const struct controller_settings *s, struct apiserver *api, struct serving_keys *keys,
           struct error *err)
{
    struct http_layer layer;

    serving_keys_layer(keys, &layer);
    for (size_t i = 0; i < s->tls_listen.count; i++) {
        const char *address = s->tls_listen.items[i];
        int r = apiserver_listen_tls(api, address, &layer, err);

        if (r < 0)
            return error_wrap(err, r, "listening on '%s' (TLS)", address);
    }
    return 0;
}

int
listeners_open(const struct controller_settings *s, struct apiserver *api,
               struct serving_keys *keys, struct error *err)
{
    int r = apiserver_listen_unix(api, s->socket, SOCKET_MODE, err);

    if (r < 0)
        return error_wrap(err, r, "listening on '%s'", s->socket);
    for (size_t i = 0; i < s->listen.count; i++) {
        r = apiserver_listen(api, s->listen.items[i], err);
        if (r < 0)
            return error_wrap(err, r, "listening on '%s'", s->listen.items[i]);
    }
    return keys != NULL ? listen_tls(s, api, keys, err) : 0;
}
