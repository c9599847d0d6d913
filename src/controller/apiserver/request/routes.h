/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - from a method and a path to a verb, a kind and a name
 *
 * /api/v1/...                          the core group
 * /apis/GROUP/VERSION/...              the others
 *   namespaces/NS/PLURAL[/NAME[/SUBRESOURCE[/EXTRA]]]
 *   PLURAL[/NAME[/SUBRESOURCE[/EXTRA]]]
 *   watch/...                          the deprecated paths of watches
 *
 * Routing takes a few comparisons per request, whatever the number of objects.
 * No side effects.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdbool.h>

#include "lib/api/object/rights.h"
#include "lib/http/http.h"

struct arena;
struct kind;

struct route {
    enum verb verb;
    const struct kind *kind;
    enum subresource subresource;
    const char *namespace; /* NULL: none, or all */
    const char *name;      /* NULL in lists and creates */
    const char *extra;     /* the path after the subresource, or NULL */
    bool is_single_watch;  /* /watch/.../NAME: of that object only */
};

enum route_result {
    ROUTE_FOUND,
    ROUTE_NO_RESOURCE, /* 404 as a Status */
    ROUTE_NO_PATH,     /* 404 as text: no such group, or not the API */
    ROUTE_NO_METHOD,   /* 405 */
};

/* `wants_watch`: the query has watch=1. The texts of the route are in the
 * arena.
 */
enum route_result route_find(struct arena *arena, enum http_method method, const char *path,
                             bool wants_watch, struct route *ret_route);

/* Names such as "get", "deletecollection"; "binding". subresource_parse returns
 * N_SUBRESOURCES for an unknown name.
 */
const char *verb_name(enum verb verb);
const char *subresource_name(enum subresource subresource);
enum subresource subresource_parse(const char *name);

/* Whether the kind, or its subresource, has the verb at all. For discovery and
 * for the in-process client.
 */
bool kind_allows(const struct kind *kind, enum verb verb);
bool subresource_allows(const struct kind *kind, enum subresource subresource, enum verb verb);

/* Whether kube-apiserver does not have it. */
bool subresource_is_kiln(const struct kind *kind, enum subresource subresource);
