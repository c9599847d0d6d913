/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - a field table: the members of a JSON object, and where each is
 * stored in a C struct
 *
 * One table per API type drives reading, checking, writing, `kctl explain`,
 * OpenAPI and the manual. A table names every field of the type, also those
 * that Kiln stores without acting on them; a field that code reads is *bound*
 * to a member of the struct. Bound members, by type of field:
 *
 *   STRING, TIME as text     const char *          NULL when absent
 *   QUANTITY, INT_OR_STRING  const char *          its text, NULL when absent
 *   BOOL                     bool                  false when absent
 *   INT                      int64_t               0 when absent
 *   NUMBER                   double                0 when absent
 *   TIME                     int64_t               microseconds since 1970, 0
 *   BOOL, INT, OPTIONAL      const bool *, const int64_t *   NULL when absent
 *   OBJECT                   the struct itself; with OPTIONAL a pointer to it
 *   LIST of T                LIST_OF(T)
 *   MAP of T                 MAP_OF(T)
 *   ANY, or with FIELD_TREE  const struct json *   unchanged
 *
 * where T is one of the types above without OPTIONAL. Strings and lists are
 * borrowed from the arena the struct was read into, and members of one struct
 * may share them: never write to a string.
 *
 * Thread:  any; tables are constants.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct json;

enum field_type {
    FIELD_STRING,
    FIELD_BOOL,
    FIELD_INT,
    FIELD_INT64,
    FIELD_NUMBER,
    FIELD_QUANTITY,
    FIELD_INT_OR_STRING,
    FIELD_TIME,
    FIELD_MICRO_TIME,
    FIELD_BYTES, /* base64 in JSON; bound as its text */
    FIELD_OBJECT,
    FIELD_LIST,
    FIELD_MAP,
    FIELD_ANY,
};

/* How a patch or an apply merges a list or map (upstream's listType, and the
 * patch strategy if it differs).
 */
enum field_merge {
    MERGE_ATOMIC,  /* replaced as a whole */
    MERGE_SET,     /* of scalars */
    MERGE_BY_KEY,  /* of objects, by merge_keys; a map by its own keys */
    MERGE_REPLACE, /* patches only: an object is replaced as a whole */
};

enum field_flag {
    FIELD_OPTIONAL = 1 << 0, /* the C member is a pointer; implies KEPT */
    FIELD_REQUIRED = 1 << 1, /* must be present and not empty */
    FIELD_CREATE_ONLY = 1 << 2,
    FIELD_RETAIN_KEYS = 1 << 3, /* strategic merge: unions */
    FIELD_KILN = 1 << 4,        /* added by Kiln, absent upstream */
    FIELD_ALWAYS = 1 << 5,      /* written even when absent, as upstream does */
    FIELD_KEPT = 1 << 6,        /* an empty value that was given is kept */
    FIELD_TREE = 1 << 7,        /* checked by type, bound as a tree */
};

#define FIELD_UNBOUND UINT32_MAX

struct record;
struct field_column;

struct field {
    const char *name;
    enum field_type type;
    enum field_type element;   /* of LIST and MAP */
    const struct record *of;   /* OBJECT, or LIST or MAP of OBJECT */
    uint32_t offset;           /* in the C struct, or FIELD_UNBOUND */
    unsigned flags;            /* enum field_flag */
    enum field_merge merge;    /* server-side apply: listType */
    enum field_merge patch;    /* strategic merge: patchStrategy */
    const char *merge_keys;    /* "containerPort,protocol" */
    const char *patch_key;     /* strategic merge's key, if it differs */
    const char *absent_key;    /* of a merge key: its value when absent */
    const char *const *values; /* allowed strings, NULL-terminated; or NULL */
    const char *const *common; /* texts so frequent that a struct need not hold
                                * a copy; NULL-terminated; or NULL */
    const char *help;          /* one or two sentences */

    /* Of a database's table; who has the table defines the struct (history_row.h). Or NULL. */
    const struct field_column *column;

    /* Checks a value, or each value of a list or map, beyond its JSON type and
     * changes it to its canonical form in place; -EINVAL. May be NULL.
     */
    int (*canonicalize)(struct arena *arena, struct json *value, struct error *err);
};

struct record {
    const char *name; /* "io.k8s.api.core.v1.PodSpec" */
    size_t size;      /* of the C struct; 0 when nothing is bound */
    const struct field *fields;
    unsigned n_fields;   /* at most RECORD_MAX_FIELDS */
    bool is_atomic;      /* applied as a whole (upstream's mapType) */
    const char *message; /* names the message with the protobuf numbers of the
                          * fields (lib/protobuf/messages.h); NULL: no protobuf
                          * form */
    const char *help;
};

#define RECORD_MAX_FIELDS 64u

#define RECORD_FIELDS(array) .fields = (array), .n_fields = ARRAY_SIZE(array)

#define LIST_OF(T)      \
    struct {            \
        T *items;       \
        unsigned count; \
    }
#define MAP_OF(T)            \
    struct {                 \
        struct {             \
            const char *key; \
            T value;         \
        } * items;           \
        unsigned count;      \
    }

/* The common map of strings (labels, annotations, resource lists). */
struct string_entry {
    const char *key;
    const char *value;
};
struct string_map {
    struct string_entry *items;
    unsigned count;
};
const char *string_map_find(const struct string_map *map, const char *key);

/* Findings of reading: unknown fields, which were dropped; the parser finds
 * duplicates. Paths are like `spec.containers[0].nme`; their number and length
 * are limited as for the parser's notes.
 */
struct record_notes {
    char **unknown;
    unsigned n_unknown;
};

/* Normalizes a tree by the table, in place: unknown members are dropped and
 * noted, nulls and empty values are removed as upstream's encoder would, absent
 * members with FIELD_ALWAYS are added with their zero value (lists, maps,
 * times, and texts with FIELD_KEPT: null), and members are put in the table's
 * order. -EINVAL when a value has the wrong type, with its path in `err`.
 */
int record_normalize(const struct record *record, struct arena *arena, struct json *object,
                     struct record_notes *notes, struct error *err);

/* The same for an object that shares its unchanged parts with `normal`, a
 * normalized tree: those parts are not checked again. NULL: nothing is shared.
 */
int record_normalize_change(const struct record *record, struct arena *arena, struct json *object,
                            const struct json *normal, struct record_notes *notes,
                            struct error *err);

/* Converts a normalized tree to a zeroed struct of record->size, and back.
 * Decode copies every string, so the struct outlives the tree. Encode skips
 * values that are absent or zero, unless they have FIELD_ALWAYS.
 */
void record_decode(const struct record *record, struct arena *arena, const struct json *object,
                   void *ret_struct);
struct json *record_encode(const struct record *record, struct arena *arena, const void *source);

/* Decode in two steps, for memory of an exact size: everything that the struct
 * points to goes into one block, aligned for any type. A value that another
 * struct `like` (NULL: none) has at the same place is not stored again; the
 * result points to it, so `like` must live as long. Pass the same `like` to
 * both steps.
 */
#define RECORD_NOTES 512u
struct record_space {
    size_t aligned;                     /* bytes of structs and arrays */
    size_t packed;                      /* bytes of text, behind the structs */
    uint64_t shared[RECORD_NOTES / 64]; /* bits: the lists, maps and structs
                                         * shared with `like`, in order of the
                                         * walk */
};
struct record_space record_measure(const struct record *record, const struct json *object,
                                   const void *like);
void record_decode_into(const struct record *record, const struct json *object, const void *like,
                        const struct record_space *space, void *block, void *ret_struct);

/* Copies a decoded struct and all that it points to, except what is in the
 * `kept` memory, which must live as long as the copy (size 0: none). Measure
 * the space behind the struct first (`shared` stays empty). Then pass `copy`,
 * which has the bytes of the struct, and two blocks of that space: one for the
 * aligned part and one for the texts. `copy` then points into them.
 */
struct record_kept {
    const void *bytes;
    size_t size;
};
struct record_space record_measure_copy(const struct record *record, const void *from,
                                        struct record_kept kept);
void record_copy_into(const struct record *record, struct record_kept kept, void *aligned,
                      void *packed, void *copy);

/* The field of that name, or NULL. */
const struct field *record_find(const struct record *record, const char *name);

/* RFC 3339 times, in microseconds since 1970. Format writes whole seconds
 * ("Z"), or six decimals for FIELD_MICRO_TIME. Parse: -EINVAL.
 */
#define TIME_TEXT_SIZE 32
void time_format(int64_t us, bool micro, char out[TIME_TEXT_SIZE]);
int time_parse(const char *text, int64_t *ret_us);
