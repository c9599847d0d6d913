/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.h - /openapi/v3: one document for each group and version
 *
 * The documents are made once, at the first request. The index names each
 * document with its digest, so that clients may cache it.
 *
 * Owns:    the texts of the documents.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct openapi;
struct request;

void openapi_free(struct openapi *openapi);

/* `rest` is the path after /openapi/v3. Returns false when there is no such
 * document. Otherwise the reply is made.
 */
bool openapi_serve(struct request *q, const char *rest, const char *if_none_match);

/* /openapi/v2: a document without kinds. kubectl asks for it about kinds that
 * no v3 document has, and reports a server error if there is none.
 */
void openapi_serve_old(struct request *q, const char *accept);
