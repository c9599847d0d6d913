/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON text to a tree of values and back
 *
 * A tree lives in one arena and is freed with it; trees of the same arena may
 * share parts as long as nobody edits a shared part. Numbers keep their text,
 * so no digit is lost. Strings are valid UTF-8 and NUL-terminated; a string
 * that contains a NUL itself (\u0000) is longer than strlen() says, and no
 * field of a record accepts it. Names of members contain no NUL. Objects keep
 * the order of their members. In an object of many members a name is found in
 * constant time.
 *
 * Thread: any; a tree belongs to one while it is edited.
 * Source: RFC 8259; yajl does the lexing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct strbuf;

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_member;

struct json {
    enum json_type type;
    uint32_t count;    /* members, items, or bytes of text */
    uint32_t capacity; /* of members or items; private */
    bool boolean;
    bool is_indexed; /* the block of members ends with an index; private */
    union {
        const char *text; /* number, string */
        struct json **items;
        struct json_member *members;
    };
};

struct json_member {
    const char *name;
    struct json *value;
};

#define JSON_MAX_DEPTH 256

/* Findings of a parse that RFC 8259 does not make errors: duplicate members, as
 * paths like `spec.containers[0].name` (the last one counts; members of a
 * second object are merged into the first). The first JSON_MAX_NOTES notes are
 * kept, as in upstream's decoder, and the beginning of a longer path: a small
 * text must not cause large answers.
 */
#define JSON_MAX_NOTES 100u
#define JSON_NOTE_SIZE 1024u
struct json_notes {
    char **duplicates; /* in the arena */
    unsigned n_duplicates;
};

/* Text. Parse accepts exactly one value and refuses bad UTF-8, nesting beyond
 * JSON_MAX_DEPTH and trailing bytes; -EINVAL, with the offset in `err`. The
 * result is borrowed from the arena. `notes` may be NULL.
 */
struct json *json_parse(struct arena *arena, const char *text, size_t length,
                        struct json_notes *notes, struct error *err);

/* The same for a text of an untrusted client: a text with more values than
 * `most` is refused with -E2BIG before the values use memory.
 */
struct json *json_parse_bounded(struct arena *arena, const char *text, size_t length, size_t most,
                                struct json_notes *notes, struct error *err);
void json_print(const struct json *value, struct strbuf *out);
void json_print_indented(const struct json *value, struct strbuf *out);

/* Prints one string with its quotes and escapes. */
void json_print_string(const char *text, size_t length, struct strbuf *out);

/* Build */
struct json *json_null(struct arena *arena);
struct json *json_bool(struct arena *arena, bool value);
struct json *json_int(struct arena *arena, int64_t value);
struct json *json_number(struct arena *arena, const char *text);
struct json *json_string(struct arena *arena, const char *text);
struct json *json_stringf(struct arena *arena, const char *format, ...) PRINTF(2, 3);
struct json *json_string_n(struct arena *arena, const char *text, size_t n);
struct json *json_array(struct arena *arena);
struct json *json_object(struct arena *arena);
struct json *json_dup(struct arena *arena, const struct json *value);

/* A shallow copy of an array or object: its parts are shared. */
struct json *json_copy(struct arena *arena, const struct json *value);

/* An object of those members; their names are borrowed and must be distinct. */
struct json *json_object_of(struct arena *arena, const struct json_member *members, uint32_t count);

/* Set replaces a member in place or appends it; names are copied. Add
 * appends a member that is known to be missing. Remove returns whether the
 * member existed. Insert moves the items from `at` on.
 */
void json_set(struct arena *arena, struct json *object, const char *name, struct json *value);
void json_add(struct arena *arena, struct json *object, const char *name, struct json *value);
void json_set_string(struct arena *arena, struct json *object, const char *name, const char *text);
void json_set_int(struct arena *arena, struct json *object, const char *name, int64_t value);
void json_set_bool(struct arena *arena, struct json *object, const char *name, bool value);
bool json_remove(struct json *object, const char *name);
void json_clear(struct json *value); /* removes all members or items */

/* Truncates to `count` after the caller has moved the members to keep to the
 * front.
 */
void json_keep_first(struct json *value, uint32_t count);

/* Removes the members or items that have a mark, in one pass. */
void json_remove_marked(struct json *value, const bool *marks);
void json_append(struct arena *arena, struct json *array, struct json *value);
void json_insert(struct arena *arena, struct json *array, uint32_t at, struct json *value);
void json_remove_at(struct json *array, uint32_t at);

/* The member; replaced by an empty object if it is missing, null or no object.
 */
struct json *json_make_object(struct arena *arena, struct json *object, const char *name);

/* All accept a NULL value or a value of another type, and then find
 * nothing. Path: names separated by dots, as in "spec.nodeName".
 */
struct json *json_get(const struct json *object, const char *name);
struct json *json_get_path(const struct json *object, const char *path);
const char *json_get_text(const struct json *object, const char *name);
const char *json_path_text(const struct json *object, const char *path);
struct json *json_at(const struct json *array, uint32_t index);
const char *json_text(const struct json *value); /* of strings; else NULL */
uint32_t json_count(const struct json *value);   /* of arrays and objects */
bool json_is(const struct json *value, enum json_type type);
bool json_is_true(const struct json *value);

/* -EINVAL: it is no number in the form of an integer; -ERANGE: too large. */
int json_to_int(const struct json *value, int64_t *ret_value);
int64_t json_get_int(const struct json *object, const char *name, int64_t fallback);

/* The approximate size of its text, without blanks and escapes. */
size_t json_size(const struct json *value);

/* Whether the contents are equal: the order of members is ignored, and numbers
 * are compared by value.
 */
bool json_equals(const struct json *a, const struct json *b);

/* Equal values have equal hashes. The hash depends on a secret of the process.
 */
uint64_t json_hash(const struct json *value);

/* "null", "boolean", "number", "string", "array", "object" */
const char *json_type_name(enum json_type type);
