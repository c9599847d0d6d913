/* SPDX-License-Identifier: Apache-2.0 */
/* svg_layout.h - places boxes beside each other, in lines of a given width
 *
 * Sizes and places are in pixels. It is plain data: set `left`, `x`, `y` and
 * `limit`, then place boxes.
 *
 * Thread: any.
 */
#pragma once

#define SVG_LAYOUT_GAP 4u /* between boxes */

struct svg_size {
    unsigned width, height;
};

struct svg_layout {
    unsigned left, x, y, line, most_width, limit;
};

/* Returns the place of the next box, as x and y. */
struct svg_size svg_layout_place(struct svg_layout *f, struct svg_size size);

/* Spreads the next `count` boxes of that width over lines of equal length, as
 * far as possible.
 */
void svg_layout_balance(struct svg_layout *f, unsigned count, unsigned width);
