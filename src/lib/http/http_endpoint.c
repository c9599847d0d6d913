/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_endpoint.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>

#include "lib/base/alloc.h"

void
http_endpoints_fini(struct http_endpoints *places)
{
    free(places->items);
    *places = (struct http_endpoints){0};
}

static bool
read_v4(const char *text, struct http_endpoint *place)
{
    place->at.v4.sin_family = AF_INET;
    place->length = sizeof(place->at.v4);
    return inet_pton(AF_INET, text, &place->at.v4.sin_addr) == 1;
}

/* Accepts an interface (scope) for addresses that are valid on one link only.
 */
static bool
read_v6(const char *text, struct http_endpoint *place)
{
    const char *percent = strchr(text, '%');
    char address[INET6_ADDRSTRLEN];
    size_t length = percent != NULL ? (size_t)(percent - text) : strlen(text);

    if (length >= sizeof(address))
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    place->at.v6.sin6_family = AF_INET6;
    place->length = sizeof(place->at.v6);
    if (percent != NULL) {
        place->at.v6.sin6_scope_id = if_nametoindex(percent + 1);
        if (place->at.v6.sin6_scope_id == 0)
            return false;
    }
    return inet_pton(AF_INET6, address, &place->at.v6.sin6_addr) == 1;
}

bool
http_endpoints_add(struct http_endpoints *places, const char *address)
{
    struct http_endpoint place = {0};

    if (!read_v4(address, &place)) {
        place = (struct http_endpoint){0};
        if (!read_v6(address, &place))
            return false;
    }
    xgrow(places->items, places->count, places->capacity);
    places->items[places->count++] = place;
    return true;
}
