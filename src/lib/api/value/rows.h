/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - macros for the field tables of lib/api: one row per field
 *
 * A row gives the type of the value, its name in JSON, the struct and member
 * that it is bound to (the struct without the word `struct`), the record of a
 * nested object, and the flags, in this order; then optional properties:
 *
 *     STRING("nodeName", pod_spec, node_name, 0, HELP("...")),
 *     OBJECTS("taints", node_spec, taints, taint, 0),
 *     MAP(QUANTITY, "capacity", node_status, capacity, 0),
 *     OPAQUE(STRING, "dnsPolicy", 0, ONE_OF("Default", "None")),
 *
 * OPAQUE rows are stored and returned, but no code reads them. WITHIN rows are
 * objects whose members are in the enclosing struct itself.
 *
 * Thread:  any; constants.
 */
#pragma once

#include "lib/api/value/bytes.h"
#include "lib/api/value/quantity.h"
#include "lib/json/record.h"

enum row_flag {
    OPTIONAL = FIELD_OPTIONAL,
    REQUIRED = FIELD_REQUIRED,
    RETAIN_KEYS = FIELD_RETAIN_KEYS,
    KILN = FIELD_KILN,
    ALWAYS = FIELD_ALWAYS,
    KEPT = FIELD_KEPT,
    TREE = FIELD_TREE,
};

#define ROW(t, n, at, ...) TYPED_ROW(t, t, n, at, __VA_ARGS__)
#define TYPED_ROW(t, checked, n, at, ...)                                                    \
    {                                                                                        \
        .name = (n), .type = FIELD_##t, .offset = (at), .canonicalize = CANONICAL_##checked, \
        .flags = __VA_ARGS__                                                                 \
    }
#define AT(s, m) offsetof(struct s, m)

/* Checks of a type's values beyond their JSON type. */
#define CANONICAL_STRING        NULL
#define CANONICAL_BOOL          NULL
#define CANONICAL_INT           NULL
#define CANONICAL_INT64         NULL
#define CANONICAL_NUMBER        NULL
#define CANONICAL_QUANTITY      quantity_canonicalize
#define CANONICAL_INT_OR_STRING NULL
#define CANONICAL_TIME          NULL
#define CANONICAL_MICRO_TIME    NULL
#define CANONICAL_BYTES         bytes_canonicalize
#define CANONICAL_OBJECT        NULL
#define CANONICAL_LIST          NULL
#define CANONICAL_ANY           NULL

#define STRING(n, s, m, ...)        ROW(STRING, n, AT(s, m), __VA_ARGS__)
#define BOOL(n, s, m, ...)          ROW(BOOL, n, AT(s, m), __VA_ARGS__)
#define INT(n, s, m, ...)           ROW(INT, n, AT(s, m), __VA_ARGS__)
#define INT64(n, s, m, ...)         ROW(INT64, n, AT(s, m), __VA_ARGS__)
#define NUMBER(n, s, m, ...)        ROW(NUMBER, n, AT(s, m), __VA_ARGS__)
#define QUANTITY(n, s, m, ...)      ROW(QUANTITY, n, AT(s, m), __VA_ARGS__)
#define INT_OR_STRING(n, s, m, ...) ROW(INT_OR_STRING, n, AT(s, m), __VA_ARGS__)
#define BYTES(n, s, m, ...)         ROW(BYTES, n, AT(s, m), __VA_ARGS__)
#define TIME(n, s, m, ...)          ROW(TIME, n, AT(s, m), __VA_ARGS__)
#define MICRO_TIME(n, s, m, ...)    ROW(MICRO_TIME, n, AT(s, m), __VA_ARGS__)
#define ANY(n, s, m, ...)           ROW(ANY, n, AT(s, m), __VA_ARGS__)
#define OPAQUE(t, n, ...)           ROW(t, n, FIELD_UNBOUND, __VA_ARGS__)

#define OBJECT_ROW(n, r, at, ...) ROW(OBJECT, n, at, __VA_ARGS__, .of = &r##_record)
#define OBJECT(n, s, m, r, ...)   OBJECT_ROW(n, r, AT(s, m), __VA_ARGS__)
#define OPAQUE_OBJECT(n, r, ...)  OBJECT_ROW(n, r, FIELD_UNBOUND, __VA_ARGS__)
#define WITHIN(n, r, ...)         OBJECT_ROW(n, r, 0, __VA_ARGS__)

#define LIST_ROW(e, n, at, ...)   TYPED_ROW(LIST, e, n, at, __VA_ARGS__, .element = FIELD_##e)
#define LIST(e, n, s, m, ...)     LIST_ROW(e, n, AT(s, m), __VA_ARGS__)
#define OPAQUE_LIST(e, n, ...)    LIST_ROW(e, n, FIELD_UNBOUND, __VA_ARGS__)
#define OBJECTS(n, s, m, r, ...)  LIST_ROW(OBJECT, n, AT(s, m), __VA_ARGS__, .of = &r##_record)
#define OPAQUE_OBJECTS(n, r, ...) LIST_ROW(OBJECT, n, FIELD_UNBOUND, __VA_ARGS__, .of = &r##_record)

#define MAP_ROW(e, n, at, ...)       TYPED_ROW(MAP, e, n, at, __VA_ARGS__, .element = FIELD_##e)
#define MAP(e, n, s, m, ...)         MAP_ROW(e, n, AT(s, m), __VA_ARGS__, .merge = MERGE_BY_KEY)
#define OPAQUE_MAP(e, n, ...)        MAP_ROW(e, n, FIELD_UNBOUND, __VA_ARGS__, .merge = MERGE_BY_KEY)
#define ATOMIC_MAP(e, n, s, m, ...)  MAP_ROW(e, n, AT(s, m), __VA_ARGS__)
#define OPAQUE_ATOMIC_MAP(e, n, ...) MAP_ROW(e, n, FIELD_UNBOUND, __VA_ARGS__)

/* The first rows of every object. */
#define TYPE_META                                           \
    ROW(STRING, "kind", FIELD_UNBOUND, 0, HELP(KIND_HELP)), \
        ROW(STRING, "apiVersion", FIELD_UNBOUND, 0, HELP(API_VERSION_HELP))
#define KIND_HELP        "The kind of the object."
#define API_VERSION_HELP "The group and version of the kind: batch/v1."
#define METADATA_HELP    "Name, namespace, labels, and what else all objects have in common."
#define METADATA(s)      OBJECT("metadata", s, meta, meta, ALWAYS, HELP(METADATA_HELP))

/* For a kind whose view is only a struct meta. */
#define BARE_METADATA OBJECT_ROW("metadata", meta, 0, ALWAYS, HELP(METADATA_HELP))

/* Optional properties of a row. OFTEN: frequent values, or keys and values of a
 * map, that need no memory of their own. Lists are atomic unless a property
 * says how they merge in an apply and in a strategic merge patch.
 */
#define HELP(text) .help = (text)
#define ONE_OF(...)                 \
    .values = (const char *const[]) \
    {                               \
        __VA_ARGS__, NULL           \
    }
#define OFTEN(...)                  \
    .common = (const char *const[]) \
    {                               \
        __VA_ARGS__, NULL           \
    }
#define BY_KEY(key)        .merge = MERGE_BY_KEY, .patch = MERGE_BY_KEY, .merge_keys = (key)
#define BY_KEYS(keys, key) BY_KEY(keys), .patch_key = (key)
#define AS_ABSENT(text)    .absent_key = (text)
#define APPLY_BY_KEY(keys) .merge = MERGE_BY_KEY, .merge_keys = (keys)
#define PATCH_BY_KEY(key)  .patch = MERGE_BY_KEY, .patch_key = (key)
#define SET                .merge = MERGE_SET, .patch = MERGE_SET
#define APPLY_SET          .merge = MERGE_SET
#define PATCH_SET          .patch = MERGE_SET
#define PATCH_REPLACE      .patch = MERGE_REPLACE

/* A record of the rows in r##_fields, bound to struct s. */
#define RECORD(r, s, n, ...)           \
    const struct record r##_record = { \
        .name = (n), .size = sizeof(struct s), RECORD_FIELDS(r##_fields), __VA_ARGS__}
#define OPAQUE_RECORD(r, n, ...) \
    const struct record r##_record = {.name = (n), RECORD_FIELDS(r##_fields), __VA_ARGS__}
#define ATOMIC .is_atomic = true

/* The protobuf numbers of a record's fields; see lib/protobuf/messages.h. */
#define MESSAGE(numbers) .message = (numbers)
