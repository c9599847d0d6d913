/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.h - /openapi/v3: one document for each group and version
 *
 * Made at the first question, once, and then kept. The index names each
 * document with a digest of it, so that clients may keep theirs.
 *
 * Owns:    the texts of the documents.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct openapi;
struct request;

void openapi_free(struct openapi *openapi);

/* `rest`: of the path, behind /openapi/v3. False: there is no such document.
 * Else the reply is made.
 */
bool
openapi_serve(struct request *q, const char *rest, const char *if_none_match);
