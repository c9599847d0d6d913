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

/* /openapi/v2: a document of no kinds. kubectl asks for it about kinds that are
 * in no document of v3, and without it says that the server is at fault.
 */
void openapi_serve_old(struct request *q, const char *accept);
