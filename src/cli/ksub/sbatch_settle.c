/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's options say the same in several ways (tasks, tasks per node, per socket, per GPU),
 * and what they mean together depends on all of them. So nothing is computed while options are
 * read; here it is done once, in an order that was compared with Debian's sbatch (decision
 * 812).
 */
#include "cli/ksub/sbatch_settle.h"

#include <errno.h>
#include <stdint.h>

#include "cli/connect/client_settings.h"
#include "cli/ksub/node_request.h"
#include "cli/ksub/sbatch_values.h"
#include "cli/ksub/submission.h"
#include "lib/base/error.h"

static int
settle_tasks(struct submission *s, struct error *err)
{
    const struct submission_sbatch *b = &s->slurm;
    int64_t per_gpu = b->tasks_per_gpu;

    if (s->tasks == 0)
        s->tasks = b->tasks_per_node;
    if (per_gpu == 0)
        return 0;
    if (b->tasks_per_node > 0)
        return error_set(err, -EINVAL,
                         "--ntasks-per-node and --ntasks-per-gpu exclude each other; give one of "
                         "them");
    if (s->gpus == 0 && s->tasks > 0)
        s->gpus = (s->tasks + per_gpu - 1) / per_gpu;
    else if (s->tasks == 0)
        s->tasks = s->gpus * per_gpu;
    if (s->gpus > 0 && (s->tasks + per_gpu - 1) / per_gpu == s->gpus)
        return 0;
    return error_set(err, -EINVAL,
                     "--ntasks-per-gpu %lld does not match %lld tasks and "
                     "%lld GPUs",
                     (long long)per_gpu, (long long)s->tasks, (long long)s->gpus);
}

/* At most so many tasks on a socket are at most their CPUs of it. */
static void
settle_sockets(struct submission *s)
{
    const int64_t each = s->cpus_per_task > 0 ? s->cpus_per_task : 1;
    const int64_t threads = s->threads_per_core > 0 ? s->threads_per_core : 1;

    if (s->slurm.tasks_per_socket > 0)
        s->cores_per_socket = (s->slurm.tasks_per_socket * each + threads - 1) / threads;
}

static int
settle_gpus(struct submission *s, struct error *err)
{
    int64_t each = s->slurm.gpus_per_task;

    if (each == 0)
        return 0;
    if (s->tasks == 0)
        s->tasks = s->gpus > 0 ? s->gpus / each : 1;
    if (s->gpus == 0)
        s->gpus = s->tasks * each;
    if (s->gpus == s->tasks * each && s->gpus > 0)
        return 0;
    return error_set(err, -EINVAL,
                     "--gpus-per-task %lld does not match %lld tasks and %lld "
                     "GPUs",
                     (long long)each, (long long)s->tasks, (long long)s->gpus);
}

static int
settle_for_each_gpu(struct submission *s, struct error *err)
{
    const struct submission_sbatch *b = &s->slurm;
    int64_t tasks = s->tasks > 0 ? s->tasks : 1;

    if (b->cpus_per_gpu == 0 && b->memory_per_gpu_bytes == 0)
        return 0;
    if (s->gpus == 0)
        return error_set(err, -EINVAL, "--%s requires GPUs: --gpus N",
                         b->cpus_per_gpu > 0 ? "cpus-per-gpu" : "mem-per-gpu");
    if (b->cpus_per_gpu > 0 && s->cpus_per_task > 0)
        return error_set(err, -EINVAL,
                         "give either --cpus-per-gpu or --cpus-per-task, not "
                         "both");
    if (b->cpus_per_gpu > 0)
        s->cpus_per_task = (b->cpus_per_gpu * s->gpus + tasks - 1) / tasks;
    if (b->memory_per_gpu_bytes == 0)
        return 0;
    if (s->memory_bytes > 0 || s->memory_per_cpu_bytes > 0)
        return error_set(err, -EINVAL,
                         "give only one of --mem-per-gpu, --mem and "
                         "--mem-per-cpu");
    if (b->memory_per_gpu_bytes > INT64_MAX / s->gpus)
        return error_set(err, -ERANGE, "--mem-per-gpu: more memory than any node can have");
    s->memory_bytes = b->memory_per_gpu_bytes * s->gpus;
    return 0;
}

int
sbatch_settle_source(struct submission *s, struct error *err)
{
    const unsigned given = s->slurm.memory_options;

    s->slurm.memory_options = 0;
    if ((given & (given - 1)) == 0)
        return 0;
    return error_set(err, -EINVAL,
                     "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive; give one of "
                     "them");
}

/* --gpus-per-node of --gpus is a number of nodes, and srun cannot start fewer tasks than there are
 * nodes, so Slurm takes fewer nodes.
 */
static int
settle_nodes(struct submission *s, struct error *err)
{
    static const struct option_spec fewer = {.name = "nodes (there are fewer tasks)"};
    const int64_t all = s->slurm.gpus, each = s->slurm.gpus_per_node;

    if (all > 0 && each > 0) {
        if (all % each != 0)
            return error_set(err, -EINVAL, "--gpus %lld is no multiple of --gpus-per-node %lld",
                             (long long)all, (long long)each);
        if (s->node_count == 0 && s->nodes == NULL)
            s->node_count = all / each;
        s->gpus = each;
    }
    if (!s->is_slurms || s->nodes != NULL || s->tasks == 0 || s->tasks >= s->node_count)
        return 0;
    s->node_count = s->tasks;
    return sbatch_values_note(&fewer, NULL, s, err);
}

int
sbatch_settle(struct submission *s, struct error *err)
{
    int r = s->slurm.clusters != NULL ? client_settings_check_clusters(s->slurm.clusters, err) : 0;

    if (s->slurm.has_all_memory)
        s->exclusive = true;
    if (r == 0)
        r = settle_nodes(s, err);
    if (r == 0)
        r = node_request_settle(s, err);

    if (r == 0)
        r = settle_tasks(s, err);
    if (r == 0)
        r = settle_gpus(s, err);
    if (r == 0)
        r = settle_for_each_gpu(s, err);
    if (r == 0)
        settle_sockets(s);
    return r;
}
