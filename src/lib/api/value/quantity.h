/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.h - amounts of a resource: "500m", "8Gi", "1e3"
 *
 * Exact decimal arithmetic with upstream's canonical form, rounding (up, away
 * from zero) and suffixes. Plain data.
 *
 * Thread: any.
 * Source: k8s.io/apimachinery/pkg/api/resource, Quantity.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct json;

#define QUANTITY_TEXT_SIZE 64

enum quantity_format {
    QUANTITY_DECIMAL_SI,
    QUANTITY_BINARY_SI,
    QUANTITY_DECIMAL_EXPONENT,
};

struct quantity {
    __int128 nano; /* the value times 10^9 */
    enum quantity_format format;
};

/* -EINVAL: not a quantity; -ERANGE: beyond Kiln's limit (10^29). */
int quantity_parse(const char *text, struct quantity *ret_quantity);

/* Replaces a JSON string or number by the string that upstream would write.
 * -EINVAL or -ERANGE with the reason.
 */
int quantity_canonicalize(struct arena *arena, struct json *value, struct error *err);
void quantity_format(const struct quantity *q, char out[QUANTITY_TEXT_SIZE]);

/* Rounded up and clamped to 64 bits. */
int64_t quantity_value(const struct quantity *q);
int64_t quantity_milli_value(const struct quantity *q);

/* The value of a validated text; 0 for NULL or a malformed text. */
int64_t quantity_text_value(const char *text);
int64_t quantity_text_milli(const char *text);

struct quantity quantity_of(int64_t value, enum quantity_format format);

/* The result has the format of `q`, or of `other` if `q` is zero; clamped. */
void quantity_add(struct quantity *q, const struct quantity *other);
void quantity_subtract(struct quantity *q, const struct quantity *other);
int quantity_sign(const struct quantity *q);
int quantity_compare(const struct quantity *a, const struct quantity *b);
