/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.h - amounts of a resource: "500m", "8Gi", "1e3"
 *
 * Exact decimal arithmetic with upstream's canonical form, rounding (up, away
 * from zero) and suffixes. Plain data.
 *
 * Source: k8s.io/apimachinery/pkg/api/resource, Quantity.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* -EINVAL: not a quantity; -ERANGE: beyond what Kiln can hold. */
int quantity_parse(const char *text, struct quantity *ret_quantity);
void quantity_format(const struct quantity *q, char out[QUANTITY_TEXT_SIZE]);

/* Rounded up, clamped to 64 bits. */
int64_t quantity_value(const struct quantity *q);
int64_t quantity_milli_value(const struct quantity *q);

/* Of a text that was validated; 0 for NULL or nonsense. */
int64_t quantity_text_value(const char *text);
int64_t quantity_text_milli(const char *text);

struct quantity quantity_of(int64_t value, enum quantity_format format);
int quantity_compare(const struct quantity *a, const struct quantity *b);
