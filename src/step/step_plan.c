/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan.c - makes of the request and the grant what one task runs
 *
 * All that can be wrong with a request as a whole is found before the first task starts, so
 * that a step is refused with one sentence, and not by each task. The plan of a
 * task is made when the task starts, and thrown away then: a node may have thousands.
 */
#include "step/step_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/api/node/gpu_vendor.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_binding.h"
#include "lib/step/step_distribution.h"
#include "lib/step/step_environment.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_output_name.h"
#include "lib/step/step_programs.h"
#include "lib/step/step_request.h"
#include "step/step_pmi.h"
#include "step/step_pmix.h"
#include "step/step_topology.h"

#define ENVIRONMENT_MOST (4u << 20)
#define DEFAULT_PATH     "/usr/local/bin:/usr/bin:/bin"
#define NOTHING          "/dev/null"
#define CPUS_FOLDER      "/sys/devices/system/cpu"

struct step_plan {
    struct step_plan_settings s;
    const struct step_layout_node *place; /* this node's */
    struct step_environment *environment;
    struct step_programs *programs; /* NULL: all tasks run the same */
    struct step_binding binding;
    struct bitset *cpus; /* by index of the task; NULL: nothing is bound */
    char step_id[24];
};

/* --- the variables of this node --------------------------------------------
 */

/* Names, and beginnings of names that end in an underscore; the lists of GPUs, too. */
static const char *const of_node[] = {
    "KILN_POD_NAME",
    "KILN_POD_UID",
    "KILN_NODE_NAME",
    "KILN_STEP_SOCKET",
    "KILN_CPUS",
    "KILN_CPUS_ON_NODE",
    "KILN_MEMORY_NODES",
    "KILN_DEVICES",
    "KILN_VOLUME_",
    "KILN_HOSTFILE",
    "OMPI_MCA_orte_default_hostfile",
    "HYDRA_HOST_FILE",
    "SLURM_JOB_GPUS",
    "SLURM_GPUS_ON_NODE",
};

static bool
is_of_node(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(of_node); i++) {
        const size_t length = strlen(of_node[i]);

        if (strncmp(name, of_node[i], length) == 0
            && (name[length] == '\0' || of_node[i][length - 1] == '_'))
            return true;
    }
    return gpu_vendor_of_list(name) != NULL;
}

/* A directory that the user has chosen is on all nodes; the job's own is on one. */
static bool
needs_own_directory(const struct step_request *q)
{
    const char *chosen = step_request_variable(q, "TMPDIR");

    return chosen == NULL || access(chosen, W_OK) < 0;
}

/* The environment of a krun on another node says what the job has there: its TMPDIR, its
 * GPUs, the socket of its agent. The first process of the job on this node has what is right
 * here. If its environment cannot be read, nothing changes.
 */
static void
add_surroundings(struct arena *arena, pid_t job, const struct step_request *q,
                 struct step_environment *e)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%d/environ", (int)job);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, ENVIRONMENT_MOST, &text, NULL) < 0)
        return;
    for (const char *at = text.text; at < text.text + text.length; at += strlen(at) + 1) {
        const char *equals = strchr(at, '=');
        char *name;

        if (equals == NULL)
            continue;
        name = arena_strndup(arena, at, (size_t)(equals - at));
        if (is_of_node(name) || (strcmp(name, "TMPDIR") == 0 && needs_own_directory(q)))
            step_environment_set(e, name, equals + 1);
    }
}

/* --- of all tasks ----------------------------------------------------------
 */

static int
bind_tasks(struct step_plan *p, struct error *err)
{
    struct step_distribution distribution;
    const struct topology *topology;
    int r = step_distribution_parse(p->s.request->distribution, &distribution, err);

    if (r == 0)
        r = step_binding_parse(p->s.arena, p->s.request->cpu_bind, &p->binding, err);
    if (r < 0 || !p->s.grant->is_bound)
        return r;
    topology = step_topology_read(p->s.arena, CPUS_FOLDER, &p->place->cpus);
    p->cpus = arena_new_array(p->s.arena, struct bitset, p->place->n_tasks + 1);
    return step_binding_apply(&p->binding, &distribution, topology, &p->place->cpus,
                              p->s.grant->layout.cpus_per_task, p->place->n_tasks, p->cpus, err);
}

int
step_plan_make(const struct step_plan_settings *s, struct step_plan **ret_plan, struct error *err)
{
    struct step_plan *p = arena_alloc(s->arena, sizeof(*p));
    int r = 0;

    p->s = *s;
    p->place = &s->grant->layout.nodes[s->grant->node];
    snprintf(p->step_id, sizeof(p->step_id), "%" PRId64, s->grant->step_id);
    if (s->request->programs != NULL)
        r = step_programs_parse(s->arena, s->request->programs, s->grant->layout.n_tasks,
                                &p->programs, err);
    if (r == 0)
        r = bind_tasks(p, err);
    if (r < 0)
        return r;
    p->environment =
        step_environment_new(s->arena, s->request, &s->grant->layout, s->grant->node, p->step_id);
    if (s->has_pmi)
        step_environment_set_pmi(p->environment, STEP_PMI_FD);
    step_pmix_add_variables(s->pmix, p->environment);
    if (s->is_foreign)
        add_surroundings(s->arena, s->job, s->request, p->environment);
    *ret_plan = p;
    return 0;
}

/* --- the program -----------------------------------------------------------
 */

static char *
copy(struct arena *arena, const char *text)
{
    return arena_strdup(arena, text);
}

/* A name is looked up in the user's PATH, where an empty part means the working
 * directory.
 */
static char **
find_paths(const struct step_plan *all, const char *program)
{
    const char *path = step_request_variable(all->s.request, "PATH");
    unsigned n = 0, most = 2;
    char **paths;

    if (strchr(program, '/') != NULL) {
        paths = arena_new_array(all->s.arena, char *, 2);
        paths[0] = copy(all->s.arena, program);
        return paths;
    }
    if (path == NULL)
        path = DEFAULT_PATH;
    for (const char *c = path; *c != '\0'; c++)
        most += *c == ':';
    paths = arena_new_array(all->s.arena, char *, most);
    for (;;) {
        const size_t length = strcspn(path, ":");

        paths[n++] = arena_printf(all->s.arena, "%.*s%s%s", (int)length, path,
                                  length == 0 ? "" : "/", program);
        if (path[length] == '\0')
            return paths;
        path += length + 1;
    }
}

/* Runs the prologs of the site and of the user, and does what their output says, as Slurm
 * does with a task prolog; then the program, and the epilog if there is one. No word of the
 * output is evaluated.
 */
static const char around[] =
    "site=$1 user=$2 epilog=$3; shift 3\n"
    "for prolog in \"$site\" \"$user\"; do\n"
    "  [ -n \"$prolog\" ] || continue\n"
    "  said=$(\"$prolog\") || { echo \"task prolog '$prolog' has failed\" >&2; exit 1; }\n"
    "  while IFS= read -r line; do\n"
    "    case $line in\n"
    "      'export '*=*) export \"${line#export }\" ;;\n"
    "      'unset '*) unset \"${line#unset }\" ;;\n"
    "      'print '*) printf '%s\\n' \"${line#print }\" ;;\n"
    "    esac\n"
    "  done <<E\n"
    "$said\n"
    "E\n"
    "done\n"
    "unset site user prolog said line\n"
    "[ -n \"$epilog\" ] || exec \"$@\"\n"
    "\"$@\"\n"
    "status=$?\n"
    "\"$epilog\"\n"
    "exit $status\n";

static void
add_program(const struct step_plan *all, unsigned rank, struct task_plan *p)
{
    const struct step_request *q = all->s.request;
    const char **words = q->arguments.items;
    unsigned n = q->arguments.count, at = 0;

    if (all->programs != NULL) {
        words = step_programs_arguments(all->s.arena, all->programs, rank, words, n);
        for (n = 0; words[n] != NULL;)
            n++;
    }
    p->arguments = arena_new_array(all->s.arena, char *, n + 8);
    if (all->s.grant->task_prolog != NULL || q->task_prolog != NULL || q->task_epilog != NULL) {
        p->arguments[at++] = copy(all->s.arena, "sh");
        p->arguments[at++] = copy(all->s.arena, "-c");
        p->arguments[at++] = copy(all->s.arena, around);
        p->arguments[at++] = copy(all->s.arena, "kiln-step");
        p->arguments[at++] =
            copy(all->s.arena, all->s.grant->task_prolog != NULL ? all->s.grant->task_prolog : "");
        p->arguments[at++] = copy(all->s.arena, q->task_prolog != NULL ? q->task_prolog : "");
        p->arguments[at++] = copy(all->s.arena, q->task_epilog != NULL ? q->task_epilog : "");
        p->paths = find_paths(all, "/bin/sh");
    } else {
        p->paths = find_paths(all, words[0]);
    }
    for (unsigned i = 0; i < n; i++)
        p->arguments[at++] = copy(all->s.arena, words[i]);
}

/* --- its files -------------------------------------------------------------
 */

static bool
is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static const char *
expand(const struct step_plan *all, unsigned rank, const char *pattern)
{
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    const struct step_request *q = all->s.request;
    const struct step_output_values values = {
        .job_id = q->job_id,
        .job_name = step_request_variable(q, "KILN_JOB_NAME"),
        .user = step_request_variable(q, "KILN_JOB_USER"),
        .array_job_id = step_request_variable(q, "KILN_ARRAY_JOB_ID"),
        .array_task_id = step_request_variable(q, "KILN_ARRAY_TASK_ID"),
        .step_id = all->step_id,
        .node = all->place->name,
        .node_index = all->s.grant->node,
        .task = rank,
    };

    if (pattern[0] != '/')
        strbuf_printf(&name, "%s/", q->directory);
    step_output_name_expand(pattern, &values, &name);
    return arena_strndup(all->s.arena, name.text, name.length);
}

static void
add_file(const struct step_plan *all, unsigned index, const char *pattern, enum step_stream stream,
         struct task_plan *p)
{
    const unsigned rank = all->place->tasks[index];

    if (pattern == NULL)
        return;
    if (strcasecmp(pattern, "none") == 0) {
        p->files[stream] = NOTHING;
    } else if (is_number(pattern)) {
        if (strtoul(pattern, NULL, 10) != rank)
            p->files[stream] = NOTHING;
    } else {
        p->files[stream] = expand(all, rank, pattern);
        p->shares_file[stream] = index > 0 && step_output_name_scope(pattern) != STEP_OUTPUT_TASK;
    }
}

/* --- its CPUs --------------------------------------------------------------
 */

static void
bind_task(const struct step_plan *all, unsigned index, struct task_plan *p)
{
    CLEANUP_STRBUF struct strbuf mask = STRBUF_INIT;
    const struct bitset *cpus = all->cpus != NULL ? &all->cpus[index] : NULL;

    if (cpus == NULL)
        return;
    CPU_ZERO(&p->cpus);
    bitset_foreach(cpu, cpus) CPU_SET(cpu, &p->cpus);
    p->is_bound = CPU_COUNT(&p->cpus) > 0;
    if (!all->binding.is_verbose)
        return;
    step_binding_format_mask(cpus, &mask);
    p->notice = arena_printf(all->s.arena, "cpu-bind=MASK - %s, task %2u %2u: mask %s set\n",
                             all->place->name, all->place->tasks[index], index, mask.text);
}

void
step_plan_of_task(const struct step_plan *all, unsigned index, struct task_plan *ret_plan)
{
    const struct step_streams *streams = &all->s.request->streams;
    struct task_plan p = {0};

    add_program(all, all->place->tasks[index], &p);
    p.environment = step_environment_of_task(all->environment, index,
                                             all->cpus != NULL ? &all->cpus[index] : NULL);
    bind_task(all, index, &p);
    if (all->s.request->has_terminal && all->place->tasks[index] != 0)
        p.files[STEP_STDIN] = p.files[STEP_STDOUT] = p.files[STEP_STDERR] = NOTHING;
    add_file(all, index, streams->input, STEP_STDIN, &p);
    add_file(all, index, streams->output, STEP_STDOUT, &p);
    add_file(all, index, streams->error, STEP_STDERR, &p);
    *ret_plan = p;
}
