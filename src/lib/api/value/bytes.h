/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - bytes in JSON: a base64 string
 *
 * Thread:  any.
 */
#pragma once

struct arena;
struct error;
struct json;

/* Checks a field of bytes and makes it canonical, as struct field requires: the
 * standard alphabet, with padding. Line breaks inside are dropped. -EINVAL: not
 * base64.
 */
int bytes_canonicalize(struct arena *arena, struct json *value, struct error *err);
