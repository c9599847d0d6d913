/* SPDX-License-Identifier: Apache-2.0 */
/* text_width.h - the number of terminal columns of a UTF-8 text
 *
 * A letter takes one column, a Chinese, Japanese or Korean character and most
 * emoji two, a combining accent none. The widths are those of the C library for
 * UTF-8, independent of the user's locale: LANG=C does not change which
 * characters the name of another user contains. A byte that is no UTF-8 takes
 * one column, because terminals show a mark in its place.
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

size_t text_width(const char *text);

/* The length in bytes of the longest prefix that fits into that many columns,
 * with all accents of its last letter.
 */
size_t text_width_cut(const char *text, size_t columns);
