/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf.h - decodes a body in Kubernetes' protobuf to a JSON tree
 *
 * The envelope is the bytes "k8s" and NUL, then a runtime.Unknown: the object's
 * apiVersion and kind, and its message. The message is decoded by the record of
 * its kind, and the result is the same as that of the object in JSON before
 * record_normalize. Unknown fields are skipped, as protobuf requires.
 *
 * Thread: any.
 * See: k8s.io/apimachinery/pkg/runtime/serializer/protobuf.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;
struct json;
struct record;

struct protobuf_envelope {
    const char *api_version; /* "" when the body omits it */
    const char *kind;
    const void *message; /* borrowed from the body */
    size_t length;
};

/* -EINVAL: the body is no envelope, or contains no valid protobuf. */
int protobuf_open(struct arena *arena, const void *body, size_t length,
                  struct protobuf_envelope *ret_envelope, struct error *err);

/* The object, without apiVersion and kind. NULL: `err` has -EINVAL (truncated,
 * text that is no UTF-8 or contains a NUL, numbers and times out of range), or
 * -E2BIG (more values than `most_values`).
 */
struct json *protobuf_decode(struct arena *arena, const struct record *record, const void *message,
                             size_t length, size_t most_values, struct error *err);
