/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_token.h - who reads /metrics: administrators, operators, and whoever
 * has a token that an administrator made for it
 *
 *   POST   /kiln/v1/metrics-token?name=NAME  makes one, or another in its place
 *   DELETE /kiln/v1/metrics-token?name=NAME  ends it
 *
 * Programs that read metrics for years use such a token. It gives access to GET
 * /metrics and to nothing else. The store keeps its digest.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/http/http.h"

struct apiserver;
struct request;

/* Whether the path is /metrics or below. */
bool metrics_token_is_asked(const char *path);

/* Whether the value of an Authorization is such a token, and one that is good
 * for the method.
 */
bool metrics_token_is_given(const char *authorization);
bool metrics_token_check(const struct apiserver *server,
                         const char *authorization,
                         enum http_method method);

/* Of a principal who has said who it is: false, and the reply is made. */
bool metrics_token_allows(struct request *q);

/* Whether the path is that of the tokens; then the request is answered,
 * perhaps later. Is safe: nobody else can read the answer.
 */
bool metrics_token_serve(struct request *q,
                         const char *path,
                         const char *name,
                         bool is_safe);
