/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - reads one YAML document from libyaml's events to a tree
 *
 * Called by: yaml.c, which initializes the struct.
 * Thread:    one at a time.
 */
#pragma once

#include <stddef.h>

#include <yaml.h>

#include "lib/base/strbuf.h"

struct arena;
struct error;
struct json;
struct json_notes;
struct line_table;
struct map;

struct yaml_document {
    yaml_parser_t *parser;
    const char *text; /* the parser's input, for error messages */
    size_t length;
    struct arena *arena;
    struct json_notes *notes; /* or NULL: duplicate keys are errors */
    struct line_table *lines;
    struct error *err;
    struct map *anchors; /* name to value */
    struct strbuf path;
    struct strbuf number;
    size_t alias_bytes;
    size_t n_values, most_values;
};

/* Reads to the start of the next document: 1, 0 at the end of the stream, or
 * -EINVAL.
 */
int document_find(struct yaml_document *d);

/* Reads that document: 0 or -EINVAL. */
int document_read(struct yaml_document *d, struct json **ret_value);
