/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/listeners.h"

#include <stdatomic.h>

#include "controller/apiserver/apiserver.h"
#include "controller/serving_keys.h"
#include "controller/settings.h"
#include "controller/standby.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
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

static void
announce(const struct controller_settings *s)
{
    log_info("cluster '%s' is served on '%s'%s%s", s->cluster, s->socket,
             s->listen.count > 0 ? " and port " : "",
             s->listen.count > 0 ? s->listen.items[0] : "");
    if (s->is_conformance)
        log_warning("--conformance: EVERYBODY WHO REACHES THIS CONTROLLER IS AN "
                    "ADMINISTRATOR, and nothing is scheduled; use it only for tests "
                    "of the API, never for a cluster");
}

int
listeners_open(const struct controller_settings *s, struct apiserver *api,
               struct serving_keys *keys, struct standby *standby, struct error *err)
{
    int r;

    standby_end(standby, api);
    r = apiserver_listen_unix(api, s->socket, SOCKET_MODE, err);

    if (r < 0)
        return error_wrap(err, r, "listening on '%s'", s->socket);
    for (size_t i = 0; i < s->listen.count; i++) {
        r = apiserver_listen(api, s->listen.items[i], err);
        if (r < 0)
            return error_wrap(err, r, "listening on '%s'", s->listen.items[i]);
    }
    r = keys != NULL ? listen_tls(s, api, keys, err) : 0;
    if (r == 0)
        announce(s);
    return r;
}
