/* SPDX-License-Identifier: Apache-2.0 */
/* A barrier opens when the last node has reported that all its ranks are in it. A rank that
 * ends in between would leave all others waiting without an end, so its end is the end of the
 * step.
 */
#include "cli/krun/krun_pmi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/krun/krun_link.h"
#include "lib/base/alloc.h"
#include "lib/step/pmi_server.h"
#include "lib/step/step_frames.h"

void
krun_pmi_fini(struct krun_pmi *p)
{
    krun_pmix_fini(&p->pmix);
    free(p->is_in);
    strbuf_fini(&p->lines);
}

void
krun_pmi_begin(struct krun_pmi *p, struct krun_link *links, unsigned n_links)
{
    *p = (struct krun_pmi){.links = links, .n_links = n_links, .left = -1};
    p->is_in = xnew_array(bool, n_links + 1);
    strbuf_init(&p->lines);
    krun_pmix_begin(&p->pmix, links, n_links);
}

/* To all nodes but the one that it comes from. */
static void
end_all(struct krun_pmi *p, const struct krun_link *from, uint32_t task, uint32_t code)
{
    if (p->is_ending)
        return;
    p->is_ending = true;
    for (unsigned i = 0; i < p->n_links; i++)
        if (&p->links[i] != from && !p->links[i].has_ended)
            step_frame_add_number(&p->links[i].out, STEP_FRAME_ABORT, STEP_STDIN, task, code);
}

/* The barrier can never open: that node will not be in it. */
static void
check_left(struct krun_pmi *p)
{
    if (p->left >= 0
        && ((p->n_in > 0 && !p->is_in[p->left]) || krun_pmix_awaits(&p->pmix, (unsigned)p->left)))
        end_all(p, NULL, p->left_task, p->left_code);
}

static void
send_lines(const struct krun_pmi *p, struct krun_link *l)
{
    size_t at = 0, length;

    do {
        length = p->lines.length - at < STEP_FRAME_BYTES ? p->lines.length - at : STEP_FRAME_BYTES;
        while (length > 0 && p->lines.text[at + length - 1] != '\n')
            length--;
        krun_link_add(l, STEP_FRAME_PMI, p->lines.text + at, length);
        at += length;
    } while (length > 0);
}

static int
enter(struct krun_pmi *p, unsigned index)
{
    if (p->is_in[index])
        return -EBADMSG;
    p->is_in[index] = true;
    if (++p->n_in < p->n_links) {
        check_left(p);
        return 0;
    }
    for (unsigned i = 0; i < p->n_links; i++)
        send_lines(p, &p->links[i]);
    strbuf_truncate(&p->lines, 0);
    memset(p->is_in, 0, p->n_links * sizeof(*p->is_in));
    p->n_in = 0;
    return 0;
}

int
krun_pmi_take(struct krun_pmi *p, const struct krun_link *link, const struct step_frame *f)
{
    uint32_t code;
    int r;

    if (f->type == STEP_FRAME_ABORT && step_frame_number(f, &code) == 0) {
        end_all(p, link, f->task, code);
        return 0;
    }
    if (f->type == STEP_FRAME_PMIX) {
        r = krun_pmix_take(&p->pmix, (unsigned)(link - p->links), f);
        check_left(p);
        return r;
    }
    if (f->type != STEP_FRAME_PMI || p->n_links < 2)
        return -EBADMSG;
    if (f->length == 0)
        return enter(p, (unsigned)(link - p->links));
    if (p->lines.length + f->length > PMI_TABLE_MOST || f->payload[f->length - 1] != '\n')
        return -EBADMSG;
    strbuf_add(&p->lines, f->payload, f->length);
    return 0;
}

void
krun_pmi_end_task(struct krun_pmi *p, const struct krun_link *link, uint32_t task,
                  const struct step_exit *end)
{
    const uint32_t code = end->signal != 0 ? 128 + end->signal : end->exit_code;

    if (p->n_links < 2 || p->left >= 0)
        return;
    p->left = link - p->links;
    p->left_task = task;
    p->left_code = code != 0 ? code : 1;
    check_left(p);
}

void
krun_pmi_end_link(struct krun_pmi *p, const struct krun_link *link)
{
    krun_pmix_end_link(&p->pmix, (unsigned)(link - p->links));
}
