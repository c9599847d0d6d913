/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a thousand tasks must not mix within a line, so a part of a line waits for its end.
 * A program that never ends its lines would be silent for ever, so the waiting parts have a
 * bound, of one line and of all.
 */
#include "cli/krun/krun_output.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

struct krun_output {
    unsigned n_tasks;
    int width; /* of the labels' numbers */
    bool labels, is_unbuffered;
    struct strbuf *parts; /* by task: the begin of a line */
    size_t held;
    /* With labels: the task whose line is open on the screen, or n_tasks. */
    uint32_t open;
};

void
krun_output_free(struct krun_output *o)
{
    if (o == NULL)
        return;
    for (unsigned i = 0; i < o->n_tasks; i++)
        strbuf_fini(&o->parts[i]);
    free(o->parts);
    free(o);
}

struct krun_output *
krun_output_new(unsigned n_tasks, bool labels, bool is_unbuffered)
{
    struct krun_output *o = xnew(struct krun_output);

    o->n_tasks = o->open = n_tasks;
    o->labels = labels;
    o->is_unbuffered = is_unbuffered || (n_tasks == 1 && !labels);
    o->parts = xnew_array(struct strbuf, n_tasks + 1);
    for (unsigned i = 0; i < n_tasks; i++)
        strbuf_init(&o->parts[i]);
    o->width = 1;
    for (unsigned n = n_tasks > 0 ? n_tasks - 1 : 0; n >= 10; n /= 10)
        o->width++;
    return o;
}

/* A piece of at most one line. */
static void
write_piece(struct krun_output *o, uint32_t task, const char *bytes, size_t length,
            struct strbuf *out)
{
    if (length == 0)
        return;
    if (o->labels && o->open != task) {
        if (o->open < o->n_tasks)
            strbuf_add_text(out, "\n");
        strbuf_printf(out, "%*u: ", o->width, task);
    }
    strbuf_add(out, bytes, length);
    o->open = bytes[length - 1] == '\n' ? o->n_tasks : task;
}

static void
write_part(struct krun_output *o, uint32_t task, struct strbuf *out)
{
    struct strbuf *part = &o->parts[task];

    o->held -= part->length;
    write_piece(o, task, part->text, part->length, out);
    strbuf_fini(part);
    strbuf_init(part);
}

static void
hold(struct krun_output *o, uint32_t task, const char *bytes, size_t length, struct strbuf *out)
{
    struct strbuf *part = &o->parts[task];

    if (length == 0)
        return;
    strbuf_add(part, bytes, length);
    o->held += length;
    if (o->is_unbuffered || part->length >= KRUN_OUTPUT_PART || o->held > KRUN_OUTPUT_HELD)
        write_part(o, task, out);
}

void
krun_output_add(struct krun_output *o, uint32_t task, const char *bytes, size_t length,
                struct strbuf *out)
{
    if (task >= o->n_tasks)
        return;
    if (!o->labels && o->is_unbuffered) {
        strbuf_add(out, bytes, length);
        return;
    }
    if (length == 0) {
        write_part(o, task, out);
        return;
    }
    while (length > 0) {
        const char *newline = memchr(bytes, '\n', length);
        const size_t n = newline != NULL ? (size_t)(newline - bytes) + 1 : length;

        if (newline != NULL && o->parts[task].length == 0) {
            write_piece(o, task, bytes, n, out);
        } else if (newline != NULL) {
            strbuf_add(&o->parts[task], bytes, n);
            o->held += n;
            write_part(o, task, out);
        } else {
            hold(o, task, bytes, n, out);
        }
        bytes += n;
        length -= n;
    }
}

void
krun_output_flush(struct krun_output *o, struct strbuf *out)
{
    for (unsigned i = 0; i < o->n_tasks; i++)
        if (o->parts[i].length > 0)
            write_part(o, i, out);
}
