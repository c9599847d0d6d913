/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/svg_layout.h"

struct svg_size
svg_layout_place(struct svg_layout *l, struct svg_size size)
{
    struct svg_size at;

    if (l->x > l->left && l->x + size.width > l->left + l->limit) {
        l->x = l->left;
        l->y += l->line + SVG_LAYOUT_GAP;
        l->line = 0;
    }
    at = (struct svg_size){l->x, l->y};
    l->x += size.width + SVG_LAYOUT_GAP;
    if (l->x - l->left - SVG_LAYOUT_GAP > l->most_width)
        l->most_width = l->x - l->left - SVG_LAYOUT_GAP;
    if (size.height > l->line)
        l->line = size.height;
    return at;
}

void
svg_layout_balance(struct svg_layout *l, unsigned count, unsigned width)
{
    unsigned fit = (l->limit + SVG_LAYOUT_GAP) / (width + SVG_LAYOUT_GAP), lines;

    if (count == 0)
        return;
    fit = fit > 0 ? fit : 1;
    lines = (count + fit - 1) / fit;
    l->limit = (count + lines - 1) / lines * (width + SVG_LAYOUT_GAP) - SVG_LAYOUT_GAP;
}
