/* SPDX-License-Identifier: Apache-2.0 */
/* ascii_parser.h - a fast parser for valid ASCII, which nearly all JSON is
 *
 * Reads valid ASCII text without members given twice, three to four times as
 * fast as yajl and to the same tree. Whatever else it meets (a mistake, other
 * characters, a name that stands twice, very large objects), it gives up
 * without a word, and yajl judges the text from its beginning. So it accepts
 * nothing that yajl would not, and says nothing about what is wrong.
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

/* NULL: not for this parser. */
struct json *json_parse_ascii(struct arena *arena,
                              const char *text,
                              size_t length,
                              size_t most);

/* The other parser, in parse.c: json_parse() of any text. */
struct json *json_parse_by_events(struct arena *arena,
                                  const char *text,
                                  size_t length,
                                  size_t most,
                                  struct json_notes *notes,
                                  struct error *err);
