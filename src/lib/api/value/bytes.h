/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - bytes on the wire: base64 in a string
 *
 * Thread:  any.
 */
#pragma once

struct arena;
struct error;
struct json;

/* Checks a field of bytes and makes it canonical, as struct field wants it: the
 * standard alphabet, padded. Line breaks in between are dropped. -EINVAL else.
 */
int
bytes_canonicalize(struct arena *arena, struct json *value, struct error *err);
