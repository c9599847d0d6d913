/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - what the server is and has: groups and resources, version,
 * health, metrics
 */
#pragma once

#include <stdbool.h>

struct request;

/* Health and version are told to anybody, before identity. */
bool discovery_is_public(const char *path);

/* False: the path is none of these. Else the reply is made. */
bool discovery_serve(struct request *q, const char *path);
