/* SPDX-License-Identifier: Apache-2.0 */
/* flow.h - places boxes beside each other, in lines of a given width
 *
 * Sizes and places are in pixels. It is plain data: set `left`, `x`, `y` and
 * `limit`, then place boxes.
 *
 * Thread: any.
 */
#pragma once

#define FLOW_GAP 4u /* between boxes */

struct size {
    unsigned width, height;
};

struct flow {
    unsigned left, x, y, line, most_width, limit;
};

/* Where the next box is, as x and y. */
struct size flow_place(struct flow *f, struct size size);

/* The next `count` boxes of that width stand in lines of as many each, as far
 * as that goes.
 */
void flow_balance(struct flow *f, unsigned count, unsigned width);
