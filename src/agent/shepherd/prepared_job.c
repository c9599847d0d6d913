/* SPDX-License-Identifier: Apache-2.0 */
/* Between fork and exec nothing may allocate, look up or read files, so all of that happens
 * here, before the fork, and the steps of become_user.c find their arguments ready. A limit
 * that the machine cannot grant (it may come from a login node) is lowered here, because a job
 * should not be refused for a limit that it may never reach.
 */
#include "agent/shepherd/prepared_job.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/shepherd/files/order.h"
#include "agent/shepherd/user_account.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

static const char default_path[] = PREPARED_JOB_PATH;

void
prepared_job_fini(struct prepared_job *job)
{
    for (size_t i = 0; i < job->n_made; i++)
        free(job->made[i]);
    free(job->made);
    process_user_fini(&job->who);
    free(job->program_paths);
    free(job->arguments);
    free(job->environment);
    free(job->mounts);
    *job = (struct prepared_job){0};
}

static char *
keep(struct prepared_job *job, char *text TAKES)
{
    job->made = xrealloc_array(job->made, job->n_made + 1, sizeof(*job->made));
    return job->made[job->n_made++] = text;
}

/* Placement */

static int
prepare_cpus(struct prepared_job *job, const char *list, struct error *err)
{
    struct bitset set;
    int r;

    if (list == NULL)
        return 0;
    r = cpuset_parse(list, &set, err);
    if (r < 0)
        return r;
    CPU_ZERO(&job->cpus);
    bitset_foreach(cpu, &set) CPU_SET(cpu, &job->cpus);
    job->has_cpus = true;
    return 0;
}

static int
mode_of(const char *policy)
{
    if (strcmp(policy, "interleave") == 0)
        return MPOL_INTERLEAVE;
    return strcmp(policy, "preferred") == 0 ? MPOL_PREFERRED : MPOL_BIND;
}

static int
prepare_memory(struct prepared_job *job, const char *policy, const char *list, struct error *err)
{
    struct bitset set;
    int r;

    job->memory_mode = -1;
    if (policy == NULL || list == NULL)
        return 0;
    r = cpuset_parse(list, &set, err);
    if (r < 0)
        return r;
    job->memory_mode = mode_of(policy);
    if (job->memory_mode == MPOL_PREFERRED && bitset_count(&set) > 1)
        job->memory_mode = MPOL_PREFERRED_MANY;
    bitset_foreach(node, &set) job->memory_nodes[node / (8 * sizeof(long))] |=
        1ul << (node % (8 * sizeof(long)));
    return 0;
}

/* Limits. The kernel has a ceiling for descriptors (nr_open), and a limit from
 * another machine may exceed it.
 */

static rlim_t
read_descriptor_ceiling(void)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read("/proc/sys/fs/nr_open", 64, &text, NULL) < 0)
        return 1u << 20;
    return strtoull(text.text, NULL, 10);
}

static void
prepare_limits(struct prepared_job *job, const struct order *o)
{
    for (unsigned i = 0; i < o->n_limits; i++) {
        struct rlimit_setting s = o->limits[i];

        if (s.resource == RLIMIT_NOFILE && s.hard > 65536) {
            rlim_t ceiling = read_descriptor_ceiling();

            s.hard = s.hard < ceiling ? s.hard : ceiling;
            s.soft = s.soft < s.hard ? s.soft : s.hard;
        }
        job->limits[job->n_limits++] = s;
    }
}

/* Environment */

static const char *
find_variable(const char **environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static void
prepare_environment(struct prepared_job *job, const struct order *o, const struct user_account *p)
{
    const struct {
        const char *name;
        const char *value;
    } defaults[] = {
        {"HOME", p->home},   {"USER", p->name},      {"LOGNAME", p->name},
        {"SHELL", p->shell}, {"PATH", default_path}, {"TMPDIR", o->tmp_dir},
    };
    size_t n = o->environment.count;

    job->environment = xnew_array(const char *, n + ARRAY_SIZE(defaults) + 1);
    if (n > 0)
        memcpy(job->environment, o->environment.items, n * sizeof(char *));
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        if (defaults[i].value != NULL && find_variable(job->environment, defaults[i].name) == NULL)
            job->environment[n++] =
                keep(job, xasprintf("%s=%s", defaults[i].name, defaults[i].value));
}

/* Program: the script, a path, or a name to look up in the user's PATH (where
 * an empty part means the working directory).
 */

static void
prepare_arguments(struct prepared_job *job, const struct order *o, const char *script)
{
    size_t shift = script == NULL ? 0 : 1;
    size_t n = o->arguments.count;

    job->arguments = xnew_array(const char *, n + shift + 1);
    if (script != NULL)
        job->arguments[0] = script;
    if (n > 0)
        memcpy(job->arguments + shift, o->arguments.items, n * sizeof(char *));
}

static void
prepare_candidates(struct prepared_job *job)
{
    const char *program = job->arguments[0];
    const char *path = find_variable(job->environment, "PATH");
    size_t n = 0;

    if (strchr(program, '/') != NULL || *program == '\0') {
        job->program_paths = xnew_array(char *, 2);
        job->program_paths[0] = keep(job, xstrdup(program));
        return;
    }
    for (;;) {
        size_t length = strcspn(path, ":");

        job->program_paths = xrealloc_array(job->program_paths, n + 2, sizeof(*job->program_paths));
        job->program_paths[n++] =
            keep(job, xasprintf("%.*s%s%s", (int)length, path, length == 0 ? "" : "/", program));
        job->program_paths[n] = NULL;
        if (path[length] == '\0')
            return;
        path += length + 1;
    }
}

static bool
is_same_file(const char *a, const char *b)
{
    return b == NULL || (a != NULL && strcmp(a, b) == 0);
}

static void
prepare_files(struct prepared_job *job, const struct order *o)
{
    static const char nothing[] = "/dev/null";
    bool one = is_same_file(o->stdout_path, o->stderr_path);

    job->work_dir = o->work_dir;
    job->stdin_path = o->stdin_path == NULL ? nothing : o->stdin_path;
    job->stdout_path = o->stdout_path == NULL ? nothing : o->stdout_path;
    job->stderr_path = one ? NULL : o->stderr_path;
    job->output_mode = o->append ? O_APPEND : O_TRUNC;
    /* The checkpoint command writes to the same file: with O_APPEND neither
     * overwrites the other's output.
     */
    if (o->checkpoint != NULL)
        job->output_mode |= O_APPEND;
}

static int
prepare_mounts(struct prepared_job *job, const struct order *o, struct error *err)
{
    if (o->mounts.count == 0)
        return 0;
    job->mounts = xnew_array(struct order_mount, o->mounts.count);
    for (size_t i = 0; i < o->mounts.count; i++) {
        struct order_mount *m = &job->mounts[job->n_mounts];

        if (order_mount_parse(o->mounts.items[i], m) < 0)
            return error_set(err, -EBADMSG, "a mount of the order is incomplete");
        job->n_mounts++;
    }
    return 0;
}

int
prepared_job_prepare(struct prepared_job *job, const struct order *o, const struct user_account *p,
                     const char *script, struct error *err)
{
    int r;

    *job = (struct prepared_job){
        .no_new_privileges = o->no_new_privileges || o->mounts.count > 0,
        .umask = (mode_t)o->umask,
        .report_fd = -1,
        .channel_fd = -1,
    };
    process_user_prepare(&job->who, p);
    snprintf(job->oom_score_adj, sizeof(job->oom_score_adj), "%d", (int)o->oom_score_adj);
    prepare_limits(job, o);
    prepare_environment(job, o, p);
    prepare_arguments(job, o, script);
    prepare_candidates(job);
    prepare_files(job, o);
    r = prepare_cpus(job, o->cpus, err);
    if (r == 0)
        r = prepare_memory(job, o->memory_policy, o->memory_nodes, err);
    if (r == 0)
        r = prepare_mounts(job, o, err);
    if (r < 0)
        prepared_job_fini(job);
    return r;
}
