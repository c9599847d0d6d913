/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/svg_layout.h"

struct svg_size
svg_layout_place(struct svg_layout *f, struct svg_size size)
{
    struct svg_size at;

    if (f->x > f->left && f->x + size.width > f->left + f->limit) {
        f->x = f->left;
        f->y += f->line + SVG_LAYOUT_GAP;
        f->line = 0;
    }
    at = (struct svg_size){f->x, f->y};
    f->x += size.width + SVG_LAYOUT_GAP;
    if (f->x - f->left - SVG_LAYOUT_GAP > f->most_width)
        f->most_width = f->x - f->left - SVG_LAYOUT_GAP;
    if (size.height > f->line)
        f->line = size.height;
    return at;
}

void
svg_layout_balance(struct svg_layout *f, unsigned count, unsigned width)
{
    unsigned fit = (f->limit + SVG_LAYOUT_GAP) / (width + SVG_LAYOUT_GAP), lines;

    if (count == 0)
        return;
    fit = fit > 0 ? fit : 1;
    lines = (count + fit - 1) / fit;
    f->limit = (count + lines - 1) / lines * (width + SVG_LAYOUT_GAP) - SVG_LAYOUT_GAP;
}
