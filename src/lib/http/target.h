/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - what a request asks for: /path?name=value&...
 *
 * It is decoded once, into one allocation. Percent escapes are undone, and '+'
 * in the query is a space. An escaped NUL, a broken escape, a space, a control
 * character and a path that does not start with '/' are refused. Dots and
 * doubled slashes are left alone.
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

/* Look: the first of that name, or NULL. */
const char *target_find(const struct target *t, const char *name);

/* Text: adds `text` with everything escaped that is not unreserved (RFC 3986),
 * fit for one path segment or a query value.
 */
void target_escape(struct strbuf *out, const char *text);
