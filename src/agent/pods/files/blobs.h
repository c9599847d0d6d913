/* SPDX-License-Identifier: Apache-2.0 */
/* blobs.h - scripts and environments of jobs, fetched once
 *
 * Content is known by its digest, so what was fetched for one pod serves all
 * others of the same content while there is room.
 *
 * Owns:    up to 64 MiB of content; what a pod is using stays beyond that.
 * Thread:  the loop's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct blob;
struct blobs;
struct client;
struct error;

/* Life. Free tells who still waits that nothing comes (-ECANCELED); what is
 * used stays until it is released.
 */
void blobs_free(struct blobs *blobs);
struct blobs *blobs_new(struct client *client) OWNED_BY(blobs_free);
DEFINE_CLEANUP(struct blobs, blobs_free)

/* Get: `got` runs now, or later, once, with a reference that is the caller's to
 * release; or with NULL and the reason. A controller that does not answer is
 * asked again until it does. `what` is "script" or "environment", the
 * subresource of the job that serves it.
 */
typedef void
blobs_got_fn(const struct blob *blob, const struct error *err, void *context);
void blobs_get(struct blobs *blobs,
               const char *namespace,
               const char *job,
               const char *what,
               const char *digest,
               blobs_got_fn *got,
               void *context);

const char *blob_bytes(const struct blob *blob);
size_t blob_length(const struct blob *blob);
void blob_release(const struct blob *blob);
