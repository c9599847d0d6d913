/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - what the server is and has: groups and resources, version,
 * health, metrics, schemas
 */
#pragma once

#include <stdbool.h>

struct request;

/* Of the request's headers; both may be NULL. */
struct discovery_question {
    const char *path;
    const char *accept;
    const char *if_none_match;
};

/* Health and version are told to anybody, before identity. */
bool discovery_is_public(const char *path);

/* False: the path is none of these. Else the reply is made. */
bool discovery_serve(struct request *q, const struct discovery_question *asked);

/* What every principal may get that is no resource: a list, with "*" at an end,
 * NULL-terminated; whether a path is of it.
 */
const char *const *discovery_paths(void);
bool discovery_knows(const char *path);
