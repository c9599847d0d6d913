/* SPDX-License-Identifier: Apache-2.0 */
/* blobs.h - scripts and environments of jobs, fetched once
 *
 * Content is identified by its digest, so one fetch serves all pods with the
 * same content while the cache has room.
 *
 * Owns:    up to 64 MiB of content, and content that pods use beyond that.
 * Thread:  the loop's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct blob;
struct blobs;
struct client;
struct error;

/* Life. blobs_free calls back pending fetches with -ECANCELED; blobs in use
 * remain until they are released.
 */
void blobs_free(struct blobs *blobs);
struct blobs *blobs_new(struct client *client) OWNED_BY(blobs_free);
DEFINE_CLEANUP(struct blobs, blobs_free)

/* `got` is called once, possibly before blobs_get returns: with a reference
 * that the caller releases, or with NULL and the reason. The request is
 * repeated until the controller answers. `what` is "script" or "environment",
 * the subresource of the job that serves it.
 */
typedef void blobs_got_fn(const struct blob *blob, const struct error *err, void *context);
void blobs_get(struct blobs *blobs, const char *namespace, const char *job, const char *what,
               const char *digest, blobs_got_fn *got, void *context);

const char *blob_bytes(const struct blob *blob);
size_t blob_length(const struct blob *blob);
void blob_release(const struct blob *blob);
