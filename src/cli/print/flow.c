/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/flow.h"

struct size
flow_place(struct flow *f, struct size size)
{
    struct size at;

    if (f->x > f->left && f->x + size.width > f->left + f->limit) {
        f->x = f->left;
        f->y += f->line + FLOW_GAP;
        f->line = 0;
    }
    at = (struct size){f->x, f->y};
    f->x += size.width + FLOW_GAP;
    if (f->x - f->left - FLOW_GAP > f->most_width)
        f->most_width = f->x - f->left - FLOW_GAP;
    if (size.height > f->line)
        f->line = size.height;
    return at;
}

void
flow_balance(struct flow *f, unsigned count, unsigned width)
{
    unsigned fit = (f->limit + FLOW_GAP) / (width + FLOW_GAP), lines;

    if (count == 0)
        return;
    fit = fit > 0 ? fit : 1;
    lines = (count + fit - 1) / fit;
    f->limit = (count + lines - 1) / lines * (width + FLOW_GAP) - FLOW_GAP;
}
