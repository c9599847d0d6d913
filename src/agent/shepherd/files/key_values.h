/* SPDX-License-Identifier: Apache-2.0 */
/* key_values.h - a record of named values with arbitrary bytes
 *
 *     kiln-exit 1
 *     code=1:0
 *     message=11:two words
 *     .
 *     end=0:
 *
 * A title with a version, entries NAME=LENGTH:BYTES, a repeated name for each
 * further value, and an end, so that a torn file is not taken for a whole one.
 *
 * Thread: any; one at a time for each record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct strbuf;

/* Write. A NULL text is left out. */
void key_values_begin(struct strbuf *out, const char *title);
void key_values_put_text(struct strbuf *out, const char *name, const char *text);
void key_values_put_number(struct strbuf *out, const char *name, int64_t number);
void key_values_end(struct strbuf *out);

/* Read. key_values_open changes the bytes: names and values are terminated by
 * NUL, and borrowed from the bytes. It checks the whole record: -EPROTO for
 * another title, -EBADMSG for a torn or malformed record, or values with NUL
 * bytes. key_values_next returns false at the end.
 */
struct key_values {
    char *at;
};
int key_values_open(struct key_values *k, char *bytes, size_t length, const char *title,
                    struct error *err);
bool key_values_next(struct key_values *k, const char **ret_name, char **ret_value);
int key_values_parse_number(const char *value, int64_t *ret_number);
