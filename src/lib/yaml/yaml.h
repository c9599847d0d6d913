/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h - YAML text to JSON trees and back, by the rules of Kubernetes
 *
 * Plain scalars mean the same as in sigs.k8s.io/yaml: YAML 1.1 booleans (yes,
 * on, n), octal 010; keys that are numbers or booleans become their text.
 * Anchors, aliases and merge keys are supported within limits: nesting to
 * JSON_MAX_DEPTH, copies by alias to a fixed number of bytes per document.
 * Refused are: custom tags, keys that are null or no scalar, .nan and .inf, and
 * duplicate keys unless notes are taken.
 *
 * Thread: any; a reader belongs to one.
 * See: scalar.h. libyaml does the lexing.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct json;
struct json_notes;
struct strbuf;
struct yaml_reader;

/* Life. The text is borrowed. A text that begins with { or [ and is complete
 * JSON is read as JSON.
 */
void yaml_reader_free(struct yaml_reader *reader);
struct yaml_reader *yaml_reader_new(const char *text, size_t length) OWNED_BY(yaml_reader_free);
DEFINE_CLEANUP(struct yaml_reader, yaml_reader_free)

/* For a text of an untrusted client: a document with more values, including
 * copies by aliases, is refused with "more than N values".
 */
void yaml_reader_bound(struct yaml_reader *reader, size_t most_values);

/* The next document, borrowed from the arena: returns 1, 0 after the last, or
 * -EINVAL with line and column in `err`. An empty document is a null. With
 * `notes` (which may be NULL) a duplicate key is noted, and its last value
 * counts; without, it is an error.
 */
int yaml_reader_next(struct yaml_reader *reader, struct arena *arena, struct json **ret_document,
                     struct json_notes *notes, struct error *err);

/* The line of a value of the last document, or of its key, from 1; 0 when it is
 * unknown (JSON, and values copied by an alias).
 */
unsigned yaml_reader_line(struct yaml_reader *reader, const struct json *value);

/* The only document of a text; null when there is none, -EINVAL when there are
 * more.
 */
int yaml_parse(struct arena *arena, const char *text, size_t length, struct json **ret_document,
               struct error *err);

/* Appends one document as kubectl prints it: block style, keys sorted, no "---"
 * before it.
 */
void yaml_print(const struct json *value, struct strbuf *out);
