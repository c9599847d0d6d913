/* SPDX-License-Identifier: Apache-2.0 */
/* http_resolve.c - resolves a host name with the C library; in a file of its
 * own, so that only programs that use it are linked with the resolver
 */
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_endpoint.h"

static void
add(struct http_endpoints *places, const struct addrinfo *found)
{
    struct http_endpoint place = {.length = found->ai_addrlen};

    if (found->ai_addrlen > sizeof(place.at))
        return;
    memcpy(&place.at, found->ai_addr, found->ai_addrlen);
    xgrow(places->items, places->count, places->capacity);
    places->items[places->count++] = place;
}

int
http_resolve(const char *host, struct http_endpoints *places, struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int r = getaddrinfo(host, NULL, &hints, &found);

    if (r != 0)
        return error_set(err, -EHOSTUNREACH, "host '%s': %s", host, gai_strerror(r));
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
        add(places, a);
    freeaddrinfo(found);
    return 0;
}
