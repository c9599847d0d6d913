/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_token.h - who may read /metrics: administrators, operators, and
 * programs with a token that an administrator made
 *
 *   POST   /kiln/v1/metrics-token?name=NAME  makes or replaces a token
 *   DELETE /kiln/v1/metrics-token?name=NAME  revokes it
 *
 * Such a token is for programs that read metrics for years. It allows GET
 * /metrics and nothing else. The store keeps only its digest.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/http/http.h"

struct apiserver;
struct request;

/* Whether the path is /metrics or below it. */
bool metrics_token_is_asked(const char *path);

/* Whether the value of an Authorization header is such a token, and whether the
 * token is valid and allows the method.
 */
bool metrics_token_is_given(const char *authorization);
bool metrics_token_check(const struct apiserver *server, const char *authorization,
                         enum http_method method);

/* Whether an authenticated principal may read metrics. Returns false when the
 * reply is made.
 */
bool metrics_token_allows(struct request *q);

/* Returns false when the path is another. Otherwise the request is answered,
 * perhaps later. `is_safe`: nobody else can read the answer.
 */
bool metrics_token_serve(struct request *q, const char *path, const char *name, bool is_safe);
