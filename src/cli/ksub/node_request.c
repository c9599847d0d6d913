/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/node_request.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/api/pod/pod.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
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
        {s->requeue, "--requeue", "a job of several nodes is not started again as a whole yet"},
        {s->test_only, "--test-only", "it is not known yet when several nodes are free together"},
        {s->nodes != NULL, "--nodelist", "it names one node; -C, -p and -x choose several"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(obstacles); i++)
        if (obstacles[i].is_given) {
            *ret_why = obstacles[i].why;
            return obstacles[i].option;
        }
    return NULL;
}

static int
divide(const char *option, int64_t nodes, int64_t *count, struct error *err)
{
    if (*count % nodes != 0)
        return error_set(err, -EINVAL,
                         "%s %lld is for all nodes, and cannot be divided among %lld nodes equally",
                         option, (long long)*count, (long long)nodes);
    *count /= nodes;
    return 0;
}

static int
settle_amounts(struct submission *s, struct error *err)
{
    const int64_t nodes = s->node_count, per_node = s->slurm.tasks_per_node;
    int r = divide("--ntasks", nodes, &s->tasks, err);

    if (r == 0 && per_node > 0 && s->tasks > per_node)
        r = error_set(err, -EINVAL,
                      "--ntasks %lld on %lld nodes is more than --ntasks-per-node %lld",
                      (long long)(s->tasks * nodes), (long long)nodes, (long long)per_node);
    /* --gpus is for the job; --gpus-per-node and --gres are for a node */
    if (r == 0 && s->slurm.gpus > 0 && s->slurm.gpus_per_node == 0 && s->gpus == s->slurm.gpus)
        r = divide("--gpus", nodes, &s->gpus, err);
    return r;
}

int
node_request_settle(struct submission *s, struct error *err)
{
    const char *why = NULL, *obstacle;

    if (!node_request_is_several(s))
        return 0;
    obstacle = find_obstacle(s, &why);
    if (obstacle != NULL)
        return error_set(err, -EOPNOTSUPP, "%s is not for a job of %lld nodes: %s", obstacle,
                         (long long)s->node_count, why);
    return settle_amounts(s, err);
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
    struct json *scheduling, *execution = json_get_path(spec, "template.spec.execution");
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
    return 0;
}
