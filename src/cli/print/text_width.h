/* SPDX-License-Identifier: Apache-2.0 */
/* text_width.h - how many columns of a terminal a UTF-8 text takes
 *
 * A letter takes one column, one of Chinese, Japanese or Korean and most emoji
 * two, a combining accent none. The widths are those of the C library, for
 * UTF-8 whatever the user's locale is: LANG=C changes how little of the text is
 * understood, not what a name of somebody else consists of. A byte that is no
 * UTF-8 takes one column, as terminals show a mark in its place.
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

size_t text_width(const char *text);

/* The longest beginning, in bytes, of at most that many columns, with all the
 * accents of its last letter.
 */
size_t text_width_cut(const char *text, size_t columns);
