/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - the target of a request: /path?name=value&...
 *
 * The target is decoded once, into one allocation. Percent escapes are decoded,
 * and '+' in the query is a space. An escaped NUL, a broken escape, a space, a
 * control character and a path that does not start with '/' are refused. Dots
 * and doubled slashes are left alone.
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct target_parameter {
    const char *name;
    const char *value; /* "" where there is no '=' */
};

struct target {
    const char *path;
    const struct target_parameter *parameters; /* in the order written */
    size_t n_parameters;
    char *memory;
};

struct strbuf;

/* Life. Parse takes an absolute path or an http:// URL; 0 or -EINVAL. */
void target_fini(struct target *t);
int target_parse(const char *text, struct target *ret_target);

/* The value of the first parameter with that name, or NULL. */
const char *target_find(const struct target *t, const char *name);

/* Text: appends `text` with all characters escaped that are not unreserved (RFC
 * 3986), for use as one path segment or query value.
 */
void target_escape(struct strbuf *out, const char *text);
