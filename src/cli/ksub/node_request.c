/* SPDX-License-Identifier: Apache-2.0 */
/* -n without -N means "as few nodes as these tasks need", which depends on the cluster. Where
 * one node is too small, the controller is asked (as a dry run) for the number of tasks that
 * one node could run, and then for the next numbers of nodes, a few times; so ksub has no
 * model of nodes of its own that could be wrong.
 */
#include "cli/ksub/node_request.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/sbatch_settle.h"
#include "cli/ksub/submission.h"
#include "cli/ksub/submission_set.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

bool
node_request_is_several(const struct submission *s)
{
    return s->node_count > 1;
}

/* The option that does not go together with several nodes, and why. */
static const char *
find_obstacle(const struct submission *s, const char **ret_why)
{
    const struct {
        bool is_given;
        const char *option, *why;
    } obstacles[] = {
        {s->array.text != NULL, "--array", "the tasks of an array have one node each"},
        {s->cron != NULL, "--cron", "jobs that repeat have one node"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(obstacles); i++)
        if (obstacles[i].is_given) {
            *ret_why = obstacles[i].why;
            return obstacles[i].option;
        }
    return NULL;
}

/* The first nodes have one more than the others. */
static int
divide_tasks(struct submission *s, struct error *err)
{
    const int64_t nodes = s->node_count, per_node = s->slurm.tasks_per_node, all = s->tasks;

    if (all == 0)
        return 0;
    if (all < nodes)
        return error_set(err, -EINVAL,
                         "--ntasks %lld is less than one task for each of the %lld nodes; ask for "
                         "fewer nodes, or more tasks",
                         (long long)all, (long long)nodes);
    s->tasks = (all + nodes - 1) / nodes;
    s->total_tasks = all % nodes != 0 ? all : 0;
    if (per_node == 0 || s->tasks <= per_node)
        return 0;
    return error_set(err, -EINVAL,
                     "--ntasks %lld on %lld nodes is more than --ntasks-per-node %lld",
                     (long long)all, (long long)nodes, (long long)per_node);
}

/* --gpus is for the job; --gpus-per-node and --gres are for a node. */
static int
divide_gpus(struct submission *s, struct error *err)
{
    if (s->slurm.gpus == 0 || s->slurm.gpus_per_node > 0 || s->gpus != s->slurm.gpus)
        return 0;
    if (s->gpus % s->node_count != 0)
        return error_set(err, -EINVAL,
                         "--gpus %lld is for all nodes, and cannot be divided among %lld nodes "
                         "equally; --gpus-per-node is for each of them",
                         (long long)s->gpus, (long long)s->node_count);
    s->gpus /= s->node_count;
    return 0;
}

/* -w n[1-4] is a job of these four nodes. */
static int
settle_names(struct submission *s, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const int64_t asked = s->node_count;
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(arena, s->nodes, &names, &count, err);

    if (r < 0)
        return r;
    if (count > JOB_GANG_MAX)
        return error_set(err, -EINVAL, "--nodelist names %zu nodes, but a job has at most %d",
                         count, JOB_GANG_MAX);
    if (asked == 0)
        s->node_count = (int64_t)count;
    if (asked == 0 || asked == (int64_t)count)
        return 0;
    return error_set(err, -EINVAL,
                     "--nodelist names %zu node%s, but --nodes %lld asks for another number: name "
                     "all nodes of the job, or choose them with -p, -C and -x",
                     count, count == 1 ? "" : "s", (long long)asked);
}

/* As many nodes as -n and --ntasks-per-node need. */
static int
settle_count(struct submission *s, struct error *err)
{
    const int64_t per_node = s->slurm.tasks_per_node;

    if (s->nodes != NULL)
        return settle_names(s, err);
    if (s->node_count == 1 && per_node > 0 && s->tasks > per_node)
        return error_set(err, -EINVAL,
                         "--ntasks %lld on one node is more than --ntasks-per-node %lld",
                         (long long)s->tasks, (long long)per_node);
    if (s->node_count == 0 && per_node > 0 && s->tasks > per_node)
        s->node_count = (s->tasks + per_node - 1) / per_node;
    if (s->node_count <= JOB_GANG_MAX)
        return 0;
    return error_set(err, -EINVAL,
                     "--ntasks %lld with --ntasks-per-node %lld needs %lld nodes, but a job has at "
                     "most %d",
                     (long long)s->tasks, (long long)per_node, (long long)s->node_count,
                     JOB_GANG_MAX);
}

int
node_request_settle(struct submission *s, struct error *err)
{
    const char *why = NULL, *obstacle;
    int r = settle_count(s, err);

    if (r < 0 || !node_request_is_several(s))
        return r;
    obstacle = find_obstacle(s, &why);
    if (obstacle != NULL)
        return error_set(err, -EOPNOTSUPP, "%s is not for a job of %lld nodes: %s", obstacle,
                         (long long)s->node_count, why);
    r = divide_tasks(s, err);
    return r < 0 ? r : divide_gpus(s, err);
}

void
node_request_format_division(const struct submission *s, struct strbuf *out)
{
    const int64_t nodes = s->node_count, all = s->total_tasks;
    const int64_t more = all % (nodes > 0 ? nodes : 1),
                  each = s->cpus_per_task > 0 ? s->cpus_per_task : 1;
    const int64_t idle = (nodes - more) * each;

    if (!node_request_is_several(s) || all == 0)
        return;
    strbuf_printf(out,
                  "%lld tasks on %lld nodes: %lld node%s with %lld, %lld with %lld; %lld CPU%s "
                  "stay%s idle",
                  (long long)all, (long long)nodes, (long long)more, more == 1 ? "" : "s",
                  (long long)s->tasks, (long long)(nodes - more), (long long)s->tasks - 1,
                  (long long)idle, idle == 1 ? "" : "s", idle == 1 ? "s" : "");
}

/* Whether the path has that pattern, such as %N or %10N. */
static bool
has_pattern(const char *path, char letter)
{
    for (const char *p = path; (p = strchr(p, '%')) != NULL;) {
        p++;
        p += strspn(p, "0123456789");
        if (*p == letter)
            return true;
        p += *p != '\0';
    }
    return false;
}

/* The pods run at the same time, and a file that several of them write is none
 * of which anybody can make use.
 */
static int
check_path(const char *path, bool is_slurms, struct error *err)
{
    if (path == NULL || strcmp(path, "/dev/null") == 0)
        return 0;
    if (is_slurms && (has_pattern(path, 'n') || has_pattern(path, 't')))
        return error_set(err, -EOPNOTSUPP,
                         "'%s': %%n and %%t are not there for jobs of several nodes; %%N is the "
                         "name of the node",
                         path);
    if (!has_pattern(path, 'N'))
        return error_set(err, -EINVAL,
                         "'%s': all nodes would write the same file; %%N in its name is the node",
                         path);
    return 0;
}

/* The job ends when the script on its first node has ended. */
static void
add_success_policy(struct arena *arena, struct json *spec)
{
    struct json *rule = json_object(arena), *rules = json_array(arena);

    json_set_string(arena, rule, "succeededIndexes", "0");
    json_append(arena, rules, rule);
    json_set(arena, json_make_object(arena, spec, "successPolicy"), "rules", rules);
}

int
node_request_add(struct arena *arena, const struct submission *s, struct json *spec,
                 struct error *err)
{
    struct json *switches, *scheduling, *execution = json_get_path(spec, "template.spec.execution");
    int r = 0;

    if (!node_request_is_several(s))
        return 0;
    if (s->per_node)
        r = check_path(s->output, s->is_slurms, err);
    if (r == 0 && s->per_node)
        r = check_path(s->error, s->is_slurms, err);
    if (r < 0)
        return r;
    json_set_string(arena, execution, "runs",
                    s->per_node ? EXECUTION_RUNS_EACH : EXECUTION_RUNS_FIRST);
    json_set_string(arena, spec, "completionMode", "Indexed");
    json_set_int(arena, spec, "completions", s->node_count);
    json_set_int(arena, spec, "parallelism", s->node_count);
    if (!s->per_node)
        add_success_policy(arena, spec);
    scheduling = json_make_object(arena, spec, "scheduling");
    json_make_object(arena, json_make_object(arena, scheduling, "schedulingPolicy"), "gang");
    json_make_object(arena, json_make_object(arena, scheduling, "disruptionMode"), "all");
    json_set_bool(arena, scheduling, "onePerNode", true);
    if (s->switches > 0) {
        switches = json_make_object(arena, scheduling, "switches");
        json_set_int(arena, switches, "most", s->switches);
        if (s->switch_wait_s >= 0)
            json_set_int(arena, switches, "waitSeconds", s->switch_wait_s);
    }
    return 0;
}

/* ---- Nodes for the tasks of -n ---- */

#define TRIES_MOST 16 /* numbers of nodes */

/* The words of a rule that refuses (`impossible`), in the error of a submission. */
#define REFUSED_WORDS "Impossible: "

struct spread_trial {
    struct submission submission;
    const struct json *manifest;
    bool fits;
    bool is_over_quota; /* more nodes would not help */
};

/* Whether a cluster without other jobs could run it. `tasks` replaces the number
 * that was asked for.
 */
static int
try_nodes(const struct node_spread *s, int64_t nodes, int64_t tasks, struct spread_trial *t,
          struct error *err)
{
    CLEANUP(object_unrefp) const struct object *job = NULL;
    CLEANUP_STRBUF struct strbuf unused = STRBUF_INIT;
    struct error found = {0};
    int r;

    *t = (struct spread_trial){.submission = *s->asked};
    t->submission.node_count = nodes;
    t->submission.tasks = tasks;
    if (sbatch_settle(&t->submission, &found) < 0
        || submission_set_order(&t->submission, &found) < 0)
        return 0;
    t->manifest = manifest_make(&t->submission, s->script, s->arena, err);
    if (t->manifest == NULL)
        return err->code < 0 ? err->code : -EINVAL;
    r = job_submit_run(&(struct job_submit){.client = s->client,
                                            .namespace = manifest_namespace(&t->submission),
                                            .job = t->manifest,
                                            .dry_run = true,
                                            .is_test = true,
                                            .program = s->program,
                                            .warnings = &unused,
                                            .patience_ms = s->patience_ms},
                       &job, &found);
    t->fits = r == 0;
    t->is_over_quota = strstr(found.text, "quota") != NULL;
    if (r == 0 || r == -ENODEV || strstr(found.text, REFUSED_WORDS) != NULL)
        return 0;
    *err = found;
    return r;
}

/* How many of the tasks one node could run; 0: not even one. */
static int
find_most_tasks(const struct node_spread *s, int64_t *ret_most, struct error *err)
{
    int64_t low = 0, high = s->asked->tasks; /* that many do not fit */

    while (high - low > 1) {
        const int64_t middle = low == 0 ? 1 : low + (high - low) / 2;
        struct spread_trial t;
        int r = try_nodes(s, 1, middle, &t, err);

        if (r < 0)
            return r;
        if (t.fits)
            low = middle;
        else
            high = middle;
    }
    *ret_most = low;
    return 0;
}

/* The next larger number of nodes of which each has fewer tasks or, as GPUs of the
 * job cannot be divided otherwise, simply the next.
 */
static int64_t
next_count(const struct submission *asked, int64_t nodes)
{
    const int64_t each = (asked->tasks + nodes - 1) / nodes;

    if (asked->slurm.gpus > 0 || each < 2)
        return nodes + 1;
    return (asked->tasks + each - 2) / (each - 1);
}

bool
node_request_may_spread(const struct submission *s)
{
    return s->node_count == 0 && s->tasks > 1 && s->slurm.tasks_per_node == 0 && s->nodes == NULL
           && s->array.text == NULL && s->cron == NULL && s->shared_mcpu == 0;
}

int
node_request_spread(const struct node_spread *s, struct submission *submission,
                    const struct json **manifest, struct error *err)
{
    const int64_t tasks = s->asked->tasks;
    struct spread_trial t, first = {0};
    int64_t nodes = 2, most = 0;
    int r = try_nodes(s, 1, tasks, &t, err);

    if (r < 0 || t.fits || t.is_over_quota)
        return r;
    if (s->asked->slurm.gpus == 0) {
        r = find_most_tasks(s, &most, err);
        if (r < 0 || most == 0)
            return r;
        nodes = (tasks + most - 1) / most;
    }
    for (unsigned i = 0; i < TRIES_MOST && nodes <= tasks && nodes <= JOB_GANG_MAX; i++) {
        r = try_nodes(s, nodes, tasks, &t, err);
        if (r < 0)
            return r;
        if (first.manifest == NULL || t.fits)
            first = t;
        if (t.fits)
            break;
        nodes = next_count(s->asked, nodes);
    }
    if (first.manifest == NULL)
        return 0;
    /* If there are too few such nodes, too, the controller says so. */
    *submission = first.submission;
    *manifest = first.manifest;
    return 0;
}
