/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_pmix.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/krun/krun_link.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/step/pmix_message.h"
#include "lib/step/step_frames.h"

/* Of a link, in one fence. */
enum part { PART_NONE, PART_WANTED, PART_BEGUN, PART_WHOLE };

struct krun_fence {
    struct list link;
    uint64_t id;
    bool is_of_all;
    enum part *parts; /* by link */
    unsigned n_wanted;
    struct strbuf data;
};

struct krun_question {
    struct list link;
    unsigned from, to;
    uint64_t id;
};

static void
free_fence(struct krun_pmix *p, struct krun_fence *f)
{
    list_remove(&f->link);
    p->n_fences--;
    p->n_bytes -= f->data.length;
    strbuf_fini(&f->data);
    free(f->parts);
    free(f);
}

void
krun_pmix_fini(struct krun_pmix *p)
{
    if (p->links == NULL)
        return;
    list_foreach_safe(at, &p->fences) free_fence(p, container_of(at, struct krun_fence, link));
    list_foreach_safe(at, &p->questions)
    {
        list_remove(at);
        free(container_of(at, struct krun_question, link));
    }
}

void
krun_pmix_begin(struct krun_pmix *p, struct krun_link *links, unsigned n_links)
{
    *p = (struct krun_pmix){.links = links, .n_links = n_links};
    list_init(&p->fences);
    list_init(&p->questions);
}

static struct krun_fence *
find_fence(const struct krun_pmix *p, uint64_t id)
{
    list_foreach(at, &p->fences)
    {
        struct krun_fence *f = container_of(at, struct krun_fence, link);

        if (f->id == id)
            return f;
    }
    return NULL;
}

/* The nodes that take part are those that the first of them names. */
static int
add_fence(struct krun_pmix *p, const struct pmix_message *m, struct krun_fence **ret_fence)
{
    struct krun_fence *f;

    if (p->n_fences >= PMIX_FENCES_MOST)
        return -EBADMSG;
    *ret_fence = f = xnew(struct krun_fence);
    f->id = m->id;
    f->is_of_all = m->number == 1;
    f->parts = xnew_array(enum part, p->n_links + 1);
    strbuf_init(&f->data);
    for (unsigned i = 0; i < p->n_links && i / 8 < m->length; i++)
        if (((unsigned char)m->bytes[i / 8] >> i % 8) & 1) {
            f->parts[i] = PART_WANTED;
            f->n_wanted++;
        }
    list_add_last(&p->fences, &f->link);
    p->n_fences++;
    return 0;
}

static int
enter(struct krun_pmix *p, unsigned index, const struct pmix_message *m)
{
    struct krun_fence *f = find_fence(p, m->id);
    int r = f == NULL ? add_fence(p, m, &f) : 0;

    if (r < 0 || f->parts[index] != PART_WANTED)
        return -EBADMSG;
    f->parts[index] = PART_BEGUN;
    return 0;
}

/* All links share the text, and take it as fast as they can send it. */
static void
open_fence(struct krun_pmix *p, struct krun_fence *f)
{
    struct krun_shared *all = krun_shared_new();

    pmix_message_add(&all->text, &(struct pmix_message){
                                     .kind = PMIX_DATA,
                                     .id = f->id,
                                     .bytes = f->data.text,
                                     .length = f->data.length,
                                 });
    for (unsigned i = 0; i < p->n_links; i++)
        if (f->parts[i] == PART_WHOLE)
            krun_link_share(&p->links[i], all);
    krun_shared_release(all);
    free_fence(p, f);
}

static int
give(struct krun_pmix *p, unsigned index, const struct pmix_message *m)
{
    struct krun_fence *f = find_fence(p, m->id);

    if (f == NULL || f->parts[index] != PART_BEGUN || p->n_bytes + m->length > PMIX_FENCE_MOST)
        return -EBADMSG;
    if (m->length > 0)
        strbuf_add(&f->data, m->bytes, m->length);
    p->n_bytes += m->length;
    if (m->has_more)
        return 0;
    f->parts[index] = PART_WHOLE;
    if (--f->n_wanted == 0)
        open_fence(p, f);
    return 0;
}

/* The node that gets it learns from whom it is. */
static void
pass_on(const struct krun_pmix *p, unsigned index, const struct pmix_message *m)
{
    struct pmix_message passed = *m;

    passed.number = index;
    pmix_message_add(&p->links[m->number].out, &passed);
}

static void
answer_none(const struct krun_pmix *p, unsigned from, unsigned to, uint64_t id)
{
    pass_on(p, to, &(struct pmix_message){.kind = PMIX_NONE, .number = from, .id = id});
}

static int
ask(struct krun_pmix *p, unsigned index, const struct pmix_message *m)
{
    struct krun_question *q;

    if (p->links[m->number].has_ended) {
        answer_none(p, index, m->number, m->id);
        return 0;
    }
    q = xnew(struct krun_question);
    *q = (struct krun_question){.from = index, .to = m->number, .id = m->id};
    list_add_last(&p->questions, &q->link);
    pass_on(p, index, m);
    return 0;
}

/* To a question, and in order: a node's answers are few at a time. */
static int
answer(struct krun_pmix *p, unsigned index, const struct pmix_message *m)
{
    list_foreach_safe(at, &p->questions)
    {
        struct krun_question *q = container_of(at, struct krun_question, link);

        if (q->from != m->number || q->to != index || q->id != m->id)
            continue;
        pass_on(p, index, m);
        if (!m->has_more) {
            list_remove(&q->link);
            free(q);
        }
        return 0;
    }
    return -EBADMSG;
}

void
krun_pmix_end_link(struct krun_pmix *p, unsigned index)
{
    list_foreach_safe(at, &p->questions)
    {
        struct krun_question *q = container_of(at, struct krun_question, link);

        if (q->to != index)
            continue;
        answer_none(p, q->from, q->to, q->id);
        list_remove(&q->link);
        free(q);
    }
}

int
krun_pmix_take(struct krun_pmix *p, unsigned index, const struct step_frame *f)
{
    struct pmix_message m;

    if (p->n_links < 2 || pmix_message_read(f, &m) < 0)
        return -EBADMSG;
    switch (m.kind) {
    case PMIX_FENCE:
        return enter(p, index, &m);
    case PMIX_DATA:
        return give(p, index, &m);
    case PMIX_GET:
        return m.number < p->n_links ? ask(p, index, &m) : -EBADMSG;
    case PMIX_GOT:
    case PMIX_NONE:
        return m.number < p->n_links ? answer(p, index, &m) : -EBADMSG;
    default:
        return -EBADMSG;
    }
}

bool
krun_pmix_awaits(const struct krun_pmix *p, unsigned index)
{
    list_foreach(at, &p->fences)
    {
        const struct krun_fence *f = container_of(at, struct krun_fence, link);

        if (f->is_of_all && f->parts[index] == PART_WANTED)
            return true;
    }
    return false;
}
