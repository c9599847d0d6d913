/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/krun/krun_terminal.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_layout.h"

struct task_end {
    unsigned node;
    bool has_ended, is_printed;
    bool has_core;
    uint32_t exit_code, signal;
    char *message; /* why it could not run, or NULL */
};

struct krun_ends {
    char *program;
    char **nodes;
    unsigned n_nodes;
    struct task_end *tasks;
    unsigned n_tasks;
    unsigned *fresh; /* ends that are not printed, in order of arrival */
    unsigned n_fresh, n_ended;
    int code;
};

void
krun_ends_free(struct krun_ends *e)
{
    if (e == NULL)
        return;
    for (unsigned i = 0; i < e->n_nodes; i++)
        free(e->nodes[i]);
    for (unsigned i = 0; i < e->n_tasks; i++)
        free(e->tasks[i].message);
    free(e->nodes);
    free(e->tasks);
    free(e->fresh);
    free(e->program);
    free(e);
}

struct krun_ends *
krun_ends_new(const struct step_layout *layout, const char *program)
{
    struct krun_ends *e = xnew(struct krun_ends);

    e->program = xstrdup(program);
    e->n_nodes = layout->n_nodes;
    e->n_tasks = layout->n_tasks;
    e->nodes = xnew_array(char *, e->n_nodes + 1);
    e->tasks = xnew_array(struct task_end, e->n_tasks + 1);
    e->fresh = xnew_array(unsigned, e->n_tasks + 1);
    for (unsigned i = 0; i < layout->n_nodes; i++) {
        e->nodes[i] = xstrdup(layout->nodes[i].name);
        for (unsigned j = 0; j < layout->nodes[i].n_tasks; j++)
            if (layout->nodes[i].tasks[j] < e->n_tasks)
                e->tasks[layout->nodes[i].tasks[j]].node = i;
    }
    return e;
}

void
krun_ends_add(struct krun_ends *e, uint32_t task, const struct step_exit *end)
{
    const int code = end->signal != 0 ? 128 + (int)end->signal : (int)end->exit_code;
    struct task_end *t;

    if (task >= e->n_tasks || e->tasks[task].has_ended)
        return;
    t = &e->tasks[task];
    t->has_ended = true;
    t->exit_code = end->exit_code;
    t->signal = end->signal;
    t->has_core = end->has_core;
    if (end->message_length > 0)
        t->message = xstrndup(end->message, end->message_length);
    e->fresh[e->n_fresh++] = task;
    e->n_ended++;
    if (code > e->code)
        e->code = code;
}

void
krun_ends_add_node(struct krun_ends *e, unsigned node, const struct step_exit *end)
{
    for (unsigned i = 0; i < e->n_tasks; i++)
        if (e->tasks[i].node == node && !e->tasks[i].has_ended)
            krun_ends_add(e, i, end);
}

static bool
is_alike(const struct task_end *a, const struct task_end *b)
{
    return a->node == b->node && a->exit_code == b->exit_code && a->signal == b->signal
           && a->has_core == b->has_core
           && strcmp(a->message != NULL ? a->message : "", b->message != NULL ? b->message : "")
                  == 0;
}

/* "task 3" or "tasks 0-2,5" of ascending numbers. */
static void
add_tasks(struct strbuf *out, const unsigned *tasks, unsigned n)
{
    strbuf_add_text(out, n == 1 ? "task " : "tasks ");
    for (unsigned i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && tasks[last + 1] == tasks[last] + 1;)
            last++;
        strbuf_printf(out, "%s%u", i > 0 ? "," : "", tasks[i]);
        if (last > i)
            strbuf_printf(out, "-%u", tasks[last]);
    }
}

static void
add_how(struct strbuf *out, const struct task_end *t)
{
    if (t->message != NULL)
        strbuf_add_text(out, t->message);
    else if (t->signal != 0)
        strbuf_printf(out, "%s%s", strsignal((int)t->signal), t->has_core ? " (core dumped)" : "");
    else
        strbuf_printf(out, "Exited with exit code %u", t->exit_code);
}

static int
compare_numbers(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return x < y ? -1 : x > y;
}

static void
print_alike(struct krun_ends *e, unsigned first)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    CLEANUP_FREE unsigned *tasks = xnew_array(unsigned, e->n_fresh + 1);
    struct task_end *t = &e->tasks[e->fresh[first]];
    unsigned n = 0;

    for (unsigned i = first; i < e->n_fresh; i++) {
        struct task_end *other = &e->tasks[e->fresh[i]];

        if (other->is_printed || !is_alike(t, other))
            continue;
        tasks[n++] = e->fresh[i];
        other->is_printed = true;
    }
    if (t->exit_code == 0 && t->signal == 0 && t->message == NULL)
        return;
    qsort(tasks, n, sizeof(*tasks), compare_numbers);
    strbuf_printf(&line, "%s: error: %s: ", e->program, e->nodes[t->node]);
    add_tasks(&line, tasks, n);
    strbuf_add_text(&line, ": ");
    add_how(&line, t);
    krun_terminal_begin_words();
    fprintf(stderr, "%s\n", line.text);
    krun_terminal_end_words();
}

void
krun_ends_print(struct krun_ends *e)
{
    for (unsigned i = 0; i < e->n_fresh; i++)
        if (!e->tasks[e->fresh[i]].is_printed)
            print_alike(e, i);
    e->n_fresh = 0;
}

int
krun_ends_code(const struct krun_ends *e)
{
    return e->code;
}

unsigned
krun_ends_count(const struct krun_ends *e)
{
    return e->n_ended;
}

void
krun_ends_describe(const struct krun_ends *e, const char *begin, struct strbuf *out)
{
    CLEANUP_FREE unsigned *tasks = xnew_array(unsigned, e->n_tasks + 1);

    for (int ended = 0; ended <= 1; ended++) {
        unsigned n = 0;

        for (unsigned i = 0; i < e->n_tasks; i++)
            if (e->tasks[i].has_ended == (ended == 1))
                tasks[n++] = i;
        if (n == 0)
            continue;
        strbuf_add_text(out, begin);
        add_tasks(out, tasks, n);
        strbuf_add_text(out, ended == 1 ? ": exited\n" : ": running\n");
    }
}
