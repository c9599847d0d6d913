/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_plan.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "step/step_state.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define NOTHING      "/dev/null"

/* Variables of each task. */
#define VARIABLES 16u

static char *
copy(struct arena *arena, const char *text)
{
    return arena_strdup(arena, text);
}

/* A name is looked up in the user's PATH, where an empty part means the working
 * directory.
 */
static char **
find_paths(struct step *s, const char *program)
{
    const char *path = step_request_variable(&s->request, "PATH");
    unsigned n = 0, most = 2;
    char **paths;

    if (strchr(program, '/') != NULL) {
        paths = arena_new_array(s->arena, char *, 2);
        paths[0] = copy(s->arena, program);
        return paths;
    }
    if (path == NULL)
        path = DEFAULT_PATH;
    for (const char *c = path; *c != '\0'; c++)
        most += *c == ':';
    paths = arena_new_array(s->arena, char *, most);
    for (;;) {
        const size_t length = strcspn(path, ":");

        paths[n++] =
            arena_printf(s->arena, "%.*s%s%s", (int)length, path, length == 0 ? "" : "/", program);
        if (path[length] == '\0')
            return paths;
        path += length + 1;
    }
}

static bool
is_named(const char *item, char *const *variables, unsigned n)
{
    const size_t length = strcspn(item, "=") + 1;

    for (unsigned i = 0; i < n; i++)
        if (strncmp(item, variables[i], length) == 0)
            return true;
    return false;
}

static void
make_environment(struct step *s, unsigned index, struct task_plan *p)
{
    const struct step_request *q = &s->request;
    const struct step_layout *l = &s->grant.layout;
    const long long rank = s->place->tasks[index];
    const struct {
        const char *name;
        long long value;
    } numbers[] = {
        {"PROCID", rank},
        {"LOCALID", index},
        {"NODEID", s->grant.node},
        {"STEP_ID", s->grant.step_id},
        {"STEPID", s->grant.step_id},
        {"STEP_NUM_TASKS", l->n_tasks},
        {"NTASKS", l->n_tasks},
    };
    unsigned n = 0;

    p->environment =
        arena_new_array(s->arena, char *, q->environment.count + 2 * ARRAY_SIZE(numbers) + 1);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        p->environment[n++] =
            arena_printf(s->arena, "KILN_%s=%lld", numbers[i].name, numbers[i].value);
        p->environment[n++] =
            arena_printf(s->arena, "SLURM_%s=%lld", numbers[i].name, numbers[i].value);
    }
    const unsigned own = n;
    for (unsigned i = 0; i < q->environment.count; i++)
        if (!is_named(q->environment.items[i], p->environment, own))
            p->environment[n++] = copy(s->arena, q->environment.items[i]);
}

/* The CPUs of the step on this node, divided in order. */
static void
bind(struct step *s, unsigned index, struct task_plan *p)
{
    const unsigned each = s->grant.layout.cpus_per_task;
    unsigned at = 0;

    if (!s->grant.is_bound)
        return;
    CPU_ZERO(&p->cpus);
    bitset_foreach(cpu, &s->place->cpus)
    {
        if (each == 0 || (at >= index * each && at < (index + 1) * each))
            CPU_SET(cpu, &p->cpus);
        at++;
    }
    p->is_bound = CPU_COUNT(&p->cpus) > 0;
}

int
task_plan_make(struct step *s, unsigned index, struct task_plan *ret_plan, UNUSED struct error *err)
{
    const struct step_request *q = &s->request;
    struct task_plan p = {0};

    p.arguments = arena_new_array(s->arena, char *, q->arguments.count + 1);
    for (unsigned i = 0; i < q->arguments.count; i++)
        p.arguments[i] = copy(s->arena, q->arguments.items[i]);
    p.paths = find_paths(s, p.arguments[0]);
    make_environment(s, index, &p);
    bind(s, index, &p);
    if (q->streams.input != NULL && strcmp(q->streams.input, "none") == 0)
        p.files[STEP_STDIN] = NOTHING;
    *ret_plan = p;
    return 0;
}
