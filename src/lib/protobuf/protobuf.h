/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf.h - a body in Kubernetes' protobuf as a JSON tree
 *
 * The envelope is the bytes "k8s" and NUL and then a runtime.Unknown: the
 * object's apiVersion and kind, and its message. The message is read by the
 * record of its kind, so that what comes out is what the same object in JSON
 * would be before record_normalize. Fields that nobody knows are passed over,
 * as protobuf has it.
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
    const char *api_version; /* "" when it is not said */
    const char *kind;
    const void *message; /* borrowed from the body */
    size_t length;
};

/* -EINVAL: not an envelope, or what is in it is no protobuf. */
int protobuf_open(struct arena *arena,
                  const void *body,
                  size_t length,
                  struct protobuf_envelope *ret_envelope,
                  struct error *err);

/* The object, without apiVersion and kind. NULL: -EINVAL in `err`: broken
 * off, text that is no UTF-8 or holds a NUL, numbers and times out of range;
 * -E2BIG: more values.
 */
struct json *protobuf_decode(struct arena *arena,
                             const struct record *record,
                             const void *message,
                             size_t length,
                             size_t most_values,
                             struct error *err);
