/* SPDX-License-Identifier: Apache-2.0 */
/* svg_layout.h - places boxes beside each other, in lines of a given width
 *
 * Sizes and positions are in pixels. The struct is plain data: set `left`, `x`,
 * `y` and `limit`, then place boxes.
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

/* Places the next box and returns its position: x as width, y as height. */
struct svg_size svg_layout_place(struct svg_layout *l, struct svg_size size);

/* Distributes the next `count` boxes of that width over lines of equal length,
 * as far as possible.
 */
void svg_layout_balance(struct svg_layout *l, unsigned count, unsigned width);
