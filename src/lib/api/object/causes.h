/* SPDX-License-Identifier: Apache-2.0 */
/* causes.h - the mistakes in an object, field by field (Status.details)
 *
 * Reasons and wording are those of upstream's field errors. The path follows
 * the walk through the object: causes_enter(c, "spec"), causes_enter_index(c,
 * "containers", 0), ...
 *
 * Thread:  one at a time; causes live in the arena of one request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct json;

enum cause_reason {
    CAUSE_REQUIRED,      /* FieldValueRequired */
    CAUSE_INVALID,       /* FieldValueInvalid */
    CAUSE_NOT_SUPPORTED, /* FieldValueNotSupported */
    CAUSE_FORBIDDEN,     /* FieldValueForbidden */
    CAUSE_DUPLICATE,     /* FieldValueDuplicate */
    CAUSE_NOT_FOUND,     /* FieldValueNotFound */
    CAUSE_TOO_LONG,      /* FieldValueTooLong */
    CAUSE_TOO_MANY,      /* FieldValueTooMany */
    CAUSE_TYPE_INVALID,  /* FieldValueTypeInvalid */
    CAUSE_INTERNAL,      /* InternalError */
};

struct cause {
    enum cause_reason reason;
    const char *field;
    const char *message; /* as in `causes[].message`: "Invalid value: -1: ..." */
};

struct causes {
    struct arena *arena;
    struct cause *items;
    unsigned count, capacity;
    size_t bytes;    /* total length of the messages */
    char path[1024]; /* the current position */
    unsigned path_length;
};

void causes_init(struct causes *c, struct arena *arena);

/* The walk. Enter appends ".name", "[index]" or "[key]" to the path; leave
 * takes the length that enter returned.
 */
unsigned causes_enter(struct causes *c, const char *name);
unsigned causes_enter_index(struct causes *c, const char *name, unsigned index);
unsigned causes_enter_key(struct causes *c, const char *name, const char *key);
void causes_leave(struct causes *c, unsigned length);

/* An answer lists at most this many mistakes and this many bytes of messages;
 * the last entry then says that there are more.
 */
#define CAUSES_MAX       1000u
#define CAUSES_BYTES_MAX (1u << 20)

/* Adds a mistake in the field `name` below the current path ("": the path
 * itself). `value` NULL: the message shows no value. `format`: the text after
 * the value, if any.
 */
void causes_add(struct causes *c, enum cause_reason reason, const char *name,
                const struct json *value, const char *format, ...) PRINTF(5, 6);

/* Adds a warning about a valid but suspicious value: "PATH: TEXT". */
void causes_warn(struct causes *c, const char *name, const char *format, ...) PRINTF(3, 4);
const char *cause_reason_name(enum cause_reason reason);
