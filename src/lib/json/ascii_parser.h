/* SPDX-License-Identifier: Apache-2.0 */
/* ascii_parser.h - a fast JSON parser for the common case, valid ASCII
 *
 * Parses valid ASCII text without duplicate members, three to four times as
 * fast as yajl, to the same tree. On anything else (an error, other characters,
 * a duplicate name, very large objects) it gives up without a message, and yajl
 * parses the text from its beginning. So it accepts no text that yajl would
 * refuse, and reports no errors.
 *
 * Called by: parse.c, and tests that compare the two
 * Thread:    any.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;
struct json;
struct json_notes;

/* NULL: this parser does not support the text. */
struct json *json_parse_ascii(struct arena *arena, const char *text, size_t length, size_t most);

/* The other parser, in parse.c: json_parse() of any text. */
struct json *json_parse_by_events(struct arena *arena, const char *text, size_t length, size_t most,
                                  struct json_notes *notes, struct error *err);
