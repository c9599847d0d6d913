/* SPDX-License-Identifier: Apache-2.0 */
/* All that is about a submission and not about the cluster is decided here, on the login node,
 * and written into the Job: what the job is to run with must not depend on what an
 * administrator changes before it starts. Mistakes that the API would find later or not at all
 * (a path that is not UTF-8, a signal that can never be sent) are refused now, with the
 * option's name.
 */
#include "cli/ksub/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ksub/array_request.h"
#include "cli/ksub/job_environment.h"
#include "cli/ksub/job_script.h"
#include "cli/ksub/node_constraints.h"
#include "cli/ksub/node_request.h"
#include "cli/ksub/sbatch_options.h"
#include "cli/ksub/submission.h"
#include "cli/values/memory_size.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/object/meta.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/value/job_mail.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define DEFAULT_OUTPUT  "kiln-%j.out"
#define SLURMS_OUTPUT   "slurm-%j.out"
#define NODES_OUTPUT    "kiln-%j-%N.out" /* of a job of several nodes */
#define SLURMS_NODES    "slurm-%j-%N.out"
#define MAX_ENVIRONMENT (1u << 20)

/* ---- Limits of the process ---- */

static struct json *
limit_text(struct arena *arena, rlim_t value)
{
    if (value == RLIM_INFINITY)
        return json_string(arena, "unlimited");
    return json_stringf(arena, "%" PRIu64, (uint64_t)value);
}

/* [{"name":"nofile","soft":"1024","hard":"524288"}, ...] */
static struct json *
limits_of_process(struct arena *arena)
{
    /* Slurm passes the same limits. */
    static const struct {
        const char *name;
        int resource;
    } known[] = {
        {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
        {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
        {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"rss", RLIMIT_RSS},
        {"stack", RLIMIT_STACK},
    };
    struct json *list = json_array(arena);

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        struct rlimit limit;
        struct json *entry;

        if (getrlimit((__rlimit_resource_t)known[i].resource, &limit) < 0)
            continue;
        entry = json_object(arena);
        json_set_string(arena, entry, "name", known[i].name);
        json_set(arena, entry, "soft", limit_text(arena, limit.rlim_cur));
        json_set(arena, entry, "hard", limit_text(arena, limit.rlim_max));
        json_append(arena, list, entry);
    }
    return list;
}

/* The umask as "0022". */
static const char *
umask_of_process(struct arena *arena)
{
    mode_t mask = umask(0);

    umask(mask);
    return arena_printf(arena, "%04o", (unsigned)mask);
}

/* ---- The Job ---- */

const char *
manifest_namespace(const struct submission *s)
{
    return s->account != NULL ? s->account : "default";
}

static void
set_text(struct arena *arena, struct json *object, const char *name, const char *text)
{
    if (text != NULL)
        json_set_string(arena, object, name, text);
}

static struct json *
base64_string(struct arena *arena, const void *bytes, size_t length)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    base64_encode(&text, bytes, length);
    return json_string_n(arena, text.text, text.length);
}

static struct json *
job_name_annotation(struct arena *arena, const struct submission *s)
{
    struct json *annotations = json_object(arena);

    json_set_string(arena, annotations, ANNOTATION_JOB_NAME, submission_name(s));
    return annotations;
}

static struct json *
metadata(struct arena *arena, const struct submission *s)
{
    struct json *meta = json_object(arena);
    struct json *annotations;

    json_set_string(arena, meta, "generateName", "job-");
    json_set_string(arena, meta, "namespace", manifest_namespace(s));
    annotations = job_name_annotation(arena, s);
    if (s->hold)
        json_set_string(arena, annotations, ANNOTATION_HOLD, "true");
    if (s->comment != NULL && s->comment[0] != '\0')
        json_set_string(arena, annotations, ANNOTATION_COMMENT, s->comment);
    if (s->slurm.qos != NULL && s->slurm.qos[0] != '\0')
        json_set_string(arena, annotations, ANNOTATION_QOS, s->slurm.qos);
    if (s->slurm.nice != 0)
        json_set_string(arena, annotations, ANNOTATION_NICE,
                        arena_printf(arena, "%" PRId64, s->slurm.nice));
    if (s->mail_events != 0 && (s->mail_user == NULL || s->mail_user[0] != '\0'))
        json_set_string(arena, annotations, ANNOTATION_MAIL_TYPE,
                        job_mail_format(s->mail_events, arena));
    if (s->mail_events != 0 && s->mail_user != NULL && s->mail_user[0] != '\0')
        json_set_string(arena, annotations, ANNOTATION_MAIL_USER, s->mail_user);
    if (s->script_file != NULL)
        json_set_string(arena, annotations, ANNOTATION_SCRIPT_PATH, s->script_file);
    if (s->submit_line != NULL && job_script_is_utf8(s->submit_line, strlen(s->submit_line)))
        json_set_string(arena, annotations, ANNOTATION_SUBMIT_LINE, s->submit_line);
    if (s->is_unlimited)
        json_set_string(arena, annotations, ANNOTATION_TIME_LIMIT, TIME_LIMIT_NONE);
    json_set(arena, meta, "annotations", annotations);
    return meta;
}

/* Text stays readable; other bytes are sent as base64. */
static struct json *
script_blob(struct arena *arena, const struct strbuf *script)
{
    struct json *blob = json_object(arena);

    if (job_script_is_utf8(script->text, script->length))
        json_set(arena, blob, "text", json_string_n(arena, script->text, script->length));
    else
        json_set(arena, blob, "data", base64_string(arena, script->text, script->length));
    return blob;
}

static int
add_environment(struct arena *arena, struct json *spec, const struct submission *s,
                struct error *err)
{
    CLEANUP_STRBUF struct strbuf environment = STRBUF_INIT;
    char **entries = environ;
    int r = s->slurm.export_file != NULL
                ? job_environment_read(s->slurm.export_file, arena, &entries, err)
                : 0;

    if (r < 0)
        return r;
    job_environment(s, entries, &environment);
    if (environment.length > MAX_ENVIRONMENT)
        return error_set(err, -E2BIG,
                         "the environment is larger than 1 MiB; use --export "
                         "with the names that the job needs");
    json_set(arena, json_make_object(arena, spec, "environment"), "data",
             base64_string(arena, environment.text, environment.length));
    return 0;
}

/* ---- Resources ---- */

static void
add_hugepages(struct arena *arena, struct json *list, const struct submission_pages *pages)
{
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf bytes = STRBUF_INIT;

    strbuf_add_text(&name, "hugepages-");
    memory_size_format(pages->page_bytes, &name);
    memory_size_format(pages->bytes, &bytes);
    json_set_string(arena, list, name.text, bytes.text);
}

static struct json *
amounts(struct arena *arena, const struct submission *s)
{
    struct json *list = json_object(arena);
    int64_t bytes = submission_memory(s);

    json_set(arena, list, "cpu",
             s->shared_mcpu > 0 ? json_stringf(arena, "%lldm", (long long)s->shared_mcpu)
                                : json_stringf(arena, "%lld", (long long)submission_cpus(s)));
    if (bytes > 0) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        memory_size_format(bytes, &text);
        json_set_string(arena, list, "memory", text.text);
    }
    if (s->gpus > 0)
        json_set(arena, list, "kiln.hpc/gpu", json_stringf(arena, "%lld", (long long)s->gpus));
    for (unsigned i = 0; i < s->n_hugepages; i++)
        add_hugepages(arena, list, &s->hugepages[i]);
    return list;
}

/* A job has its cores exclusively, unless it asks for shared ones. */
static struct json *
placement(struct arena *arena, const struct submission *s)
{
    struct json *p = json_object(arena);

    json_set_string(arena, p, "cpuPolicy", s->shared_mcpu > 0 ? "shared" : "exclusive");
    set_text(arena, p, "numaPolicy", s->numa_policy);
    if (s->threads_per_core > 0)
        json_set_int(arena, p, "threadsPerCore", s->threads_per_core);
    if (s->cores_per_socket > 0)
        json_set_int(arena, p, "coresPerSocket", s->cores_per_socket);
    set_text(arena, p, "distribution", s->distribution);
    set_text(arena, p, "memoryPolicy", s->memory_policy);
    set_text(arena, p, "gpuBinding", s->gpu_binding);
    if (s->gpu_type[0] != '\0')
        json_set_string(arena, p, "gpuType", s->gpu_type);
    if (s->exclusive)
        json_set_bool(arena, p, "wholeNode", true);
    set_text(arena, p, "partition", s->partition);
    set_text(arena, p, "reservation", s->reservation);
    return p;
}

/* ---- The process ---- */

static struct json *
warning(struct arena *arena, const struct submission_signal *signal)
{
    struct json *w = json_object(arena);

    json_set_string(arena, w, "name", signal->name);
    json_set_int(arena, w, "secondsBefore", signal->seconds_before);
    if (signal->batch_only)
        json_set_bool(arena, w, "batchOnly", true);
    return w;
}

/* In Slurm, the task of a job that is not an array. */
#define NO_TASK     "4294967294"
#define MOST_DIGITS 10

/* The replacement of a pattern that agents do not know: for sbatch's patterns
 * the value that they have here (the first task of the first node), for the
 * array's pattern in a job without an array the job's id. NULL: the pattern
 * stays.
 */
static const char *
meaning_of(char letter, const struct submission *s)
{
    static const char theirs[] = SBATCH_PATTERNS;
    static const char *const ours[] = {"%j", "0", "0", "batch"};
    const char *found = s->is_slurms && letter != '\0' ? strchr(theirs, letter) : NULL;

    if (letter == 'A' && s->array.text == NULL)
        return "%j";
    if (letter == 'a' && s->array.text == NULL && s->is_slurms)
        return NO_TASK;
    return found != NULL ? ours[found - theirs] : NULL;
}

/* "%3t": a number has zeros before it, at most ten digits in all. */
static void
add_padded(struct strbuf *out, const char *meaning, int width)
{
    const int most = width < MOST_DIGITS ? width : MOST_DIGITS;

    if (meaning[strspn(meaning, "0123456789")] == '\0')
        for (int i = (int)strlen(meaning); i < most; i++)
            strbuf_add_char(out, '0');
    strbuf_add_text(out, meaning);
}

static const char *
file_pattern(struct arena *arena, const struct submission *s, const char *path)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (path == NULL)
        return path;
    while (*path != '\0') {
        size_t digits = *path == '%' ? strspn(path + 1, "0123456789") : 0;
        bool is_pattern = *path == '%' && path[1 + digits] != '\0';
        const char *meaning = is_pattern ? meaning_of(path[1 + digits], s) : NULL;
        size_t length = is_pattern ? digits + 2 : 1;

        if (meaning == NULL)
            strbuf_add(&text, path, length);
        else if (meaning[0] == '%')
            strbuf_printf(&text, "%%%.*sj", (int)digits, path + 1);
        else
            add_padded(&text, meaning, digits > 0 ? atoi(path + 1) : 0);
        path += length;
    }
    return arena_strdup(arena, text.text);
}

static const char *
default_output(const struct submission *s)
{
    if (node_request_is_several(s) && s->per_node)
        return s->is_slurms ? SLURMS_NODES : NODES_OUTPUT;
    return s->is_slurms ? SLURMS_OUTPUT : DEFAULT_OUTPUT;
}

static struct json *
execution(struct arena *arena, const struct submission *s)
{
    struct json *e = json_object(arena);

    set_text(arena, e, "stdinPath", file_pattern(arena, s, s->input));
    set_text(arena, e, "stdoutPath",
             s->output != NULL ? file_pattern(arena, s, s->output) : default_output(s));
    set_text(arena, e, "stderrPath", file_pattern(arena, s, s->error));
    set_text(arena, e, "openMode", s->open_mode);
    json_set_string(arena, e, "umask", umask_of_process(arena));
    json_set(arena, e, "limits", limits_of_process(arena));
    if (s->has_signal)
        json_set(arena, e, "signal", warning(arena, &s->signal));
    set_text(arena, e, "checkpointCommand", s->checkpoint_command);
    if (s->fence_after_s > 0)
        json_set_int(arena, e, "fenceAfterSeconds", s->fence_after_s);
    if (s->thread_bind)
        json_set_bool(arena, e, "bindThreads", true);
    return e;
}

/* The directory by its name in the shell, with symbolic links: an automounted
 * home has this name on every node.
 */
static const char *
directory_of_shell(void)
{
    const char *name = getenv("PWD");
    struct stat named;
    struct stat here;

    if (name == NULL || name[0] != '/' || stat(name, &named) < 0 || stat(".", &here) < 0
        || named.st_dev != here.st_dev || named.st_ino != here.st_ino)
        return NULL;
    return name;
}

static int
working_directory(struct arena *arena, const struct submission *s, const char **ret_directory,
                  struct error *err)
{
    const char *here = directory_of_shell();
    char buffer[PATH_MAX];

    if (s->directory != NULL && s->directory[0] == '/') {
        *ret_directory = s->directory;
        return 0;
    }
    if (here == NULL)
        here = getcwd(buffer, sizeof(buffer));
    if (here == NULL)
        return error_set(err, -errno,
                         "the current working directory cannot be found (%s); "
                         "give a directory with --chdir",
                         strerror(errno));
    if (s->directory == NULL)
        *ret_directory = arena_strdup(arena, here);
    else
        *ret_directory = arena_printf(arena, "%s/%s", here, s->directory);
    return 0;
}

static struct json *
container(struct arena *arena, const struct submission *s, const char *directory)
{
    struct json *c = json_object(arena);
    struct json *resources;

    json_set_string(arena, c, "name", "main");
    json_set_string(arena, c, "image", "host");
    if (s->arguments != NULL && s->arguments[0] != NULL) {
        struct json *args = json_array(arena);

        for (char *const *a = s->arguments; *a != NULL; a++)
            json_append(arena, args, json_string(arena, *a));
        json_set(arena, c, "args", args);
    }
    json_set_string(arena, c, "workingDir", directory);
    resources = json_make_object(arena, c, "resources");
    json_set(arena, resources, "requests", amounts(arena, s));
    json_set(arena, resources, "limits", amounts(arena, s));
    return c;
}

/* Scratch space on the node, as an ephemeral volume of the pod. The agent makes
 * the volume with this name the job's TMPDIR.
 */
static struct json *
volumes(struct arena *arena, const struct submission *s)
{
    CLEANUP_STRBUF struct strbuf size = STRBUF_INIT;
    struct json *list = json_array(arena), *volume = json_object(arena);
    struct json *template_, *spec, *modes = json_array(arena);

    memory_size_format(s->tmp_bytes, &size);
    json_set_string(arena, volume, "name", "tmp");
    template_ = json_make_object(arena, json_make_object(arena, volume, "ephemeral"),
                                 "volumeClaimTemplate");
    spec = json_make_object(arena, template_, "spec");
    json_append(arena, modes, json_string(arena, "ReadWriteOnce"));
    json_set(arena, spec, "accessModes", modes);
    json_set_string(arena, spec, "storageClassName", STORAGE_CLASS_SCRATCH);
    json_set_string(arena,
                    json_make_object(arena, json_make_object(arena, spec, "resources"), "requests"),
                    "storage", size.text);
    json_append(arena, list, volume);
    return list;
}

static int
fill_pod(struct arena *arena, struct json *spec, const struct submission *s, struct error *err)
{
    struct json *containers = json_array(arena);
    const char *directory = NULL;
    int r = working_directory(arena, s, &directory, err);

    if (r < 0)
        return r;
    json_append(arena, containers, container(arena, s, directory));
    json_set(arena, spec, "containers", containers);
    json_set_string(arena, spec, "restartPolicy", "Never");
    if (s->time_limit_s > 0)
        json_set_int(arena, spec, "activeDeadlineSeconds", s->time_limit_s);
    r = node_constraints_add(s, arena, spec, err);
    if (r < 0)
        return r;
    set_text(arena, spec, "priorityClassName", s->priority_class);
    if (s->priority != NULL)
        json_set_int(arena, spec, "priority", *s->priority);
    json_set(arena, spec, "placement", placement(arena, s));
    json_set(arena, spec, "execution", execution(arena, s));
    if (s->tmp_bytes > 0)
        json_set(arena, spec, "volumes", volumes(arena, s));
    return 0;
}

/* ---- The Job's own fields ---- */
static int
fill_job(struct arena *arena, struct json *spec, const struct submission *s,
         const struct strbuf *script, struct error *err)
{
    struct json *template_ = json_make_object(arena, spec, "template");
    struct json *meta = json_make_object(arena, template_, "metadata");
    int r;

    json_set(arena, meta, "annotations", job_name_annotation(arena, s));
    if (s->is_slurms)
        json_set_string(arena, json_get(meta, "annotations"), ANNOTATION_VARIABLES, "slurm");
    if (s->tasks > 1)
        json_set(arena, json_get(meta, "annotations"), ANNOTATION_TASKS,
                 json_stringf(arena, "%lld", (long long)s->tasks));
    if (s->total_tasks > 0)
        json_set(arena, json_get(meta, "annotations"), ANNOTATION_TOTAL_TASKS,
                 json_stringf(arena, "%lld", (long long)s->total_tasks));
    if (s->slurm.tasks_per_node > 0)
        json_set(arena, json_get(meta, "annotations"), ANNOTATION_TASKS_PER_NODE,
                 json_stringf(arena, "%lld", (long long)s->slurm.tasks_per_node));
    r = fill_pod(arena, json_make_object(arena, template_, "spec"), s, err);
    if (r < 0)
        return r;
    json_set_int(arena, spec, "backoffLimit", 0);
    /* Two attempts must not write the same files at the same time. */
    json_set_string(arena, spec, "podReplacementPolicy", "Failed");
    if (s->requeue)
        json_set_bool(arena, spec, "requeue", true);
    if (s->begin_at_us > 0) {
        char begin[TIME_TEXT_SIZE];

        time_format(s->begin_at_us, false, begin);
        json_set_string(arena, spec, "beginTime", begin);
    }
    if (s->dependency != NULL) {
        struct json *dependencies;

        r = job_dependency_parse(s->dependency, arena, &dependencies, err);
        if (r < 0)
            return r;
        json_set(arena, spec, "dependencies", dependencies);
    }
    if (s->deadline_us > 0) {
        char deadline[TIME_TEXT_SIZE];

        time_format(s->deadline_us, false, deadline);
        json_set_string(arena, spec, "deadline", deadline);
    }
    json_set(arena, spec, "script", script_blob(arena, script));
    r = node_request_add(arena, s, spec, err);
    if (r == 0)
        r = array_request_add(arena, s, spec, err);
    if (r < 0)
        return r;
    return add_environment(arena, spec, s, err);
}

/* JSON strings are UTF-8, so a path or name in another encoding is refused. */
static int
check_texts(const struct submission *s, struct error *err)
{
    const char *const texts[] = {
        submission_name(s), s->account, s->comment, s->priority_class,
        s->directory,       s->input,   s->output,  s->error,
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i] != NULL && !job_script_is_utf8(texts[i], strlen(texts[i])))
            return error_set(err, -EILSEQ, "'%s' is not valid UTF-8", texts[i]);
    for (char *const *a = s->arguments; a != NULL && *a != NULL; a++)
        if (!job_script_is_utf8(*a, strlen(*a)))
            return error_set(err, -EILSEQ, "the argument '%s' is not valid UTF-8", *a);
    return 0;
}

static int
check_sums(const struct submission *s, struct error *err)
{
    if (s->shared_mcpu > 0
        && (s->cpus_per_task > 0 || s->threads_per_core > 0 || s->cores_per_socket > 0
            || s->exclusive || s->distribution != NULL))
        return error_set(err, -EINVAL,
                         "--shared is for jobs without their own cores; -c, "
                         "--exclusive and the choice of cores are for jobs "
                         "with their own cores");
    if (s->thread_bind && (s->tasks > 1 || s->shared_mcpu > 0))
        return error_set(err, -EINVAL,
                         s->tasks > 1
                             ? "--thread-bind is for a job of one task: all tasks would "
                               "begin on the same core; the program that starts them can "
                               "bind them (mpirun --bind-to core)"
                             : "--thread-bind is for a job with its own cores, but --shared "
                               "has none");
    if (submission_cpus(s) > 1000000)
        return error_set(err, -ERANGE, "%lld CPUs are more than any node can have",
                         (long long)submission_cpus(s));
    if (s->memory_per_cpu_bytes > INT64_MAX / submission_cpus(s))
        return error_set(err, -ERANGE, "--mem-per-cpu: more memory than any node can have");
    return 0;
}

/* A warning signal that could never be sent is refused. Without a time limit of
 * its own the job may get one from its partition.
 */
static int
check_warning(const struct submission *s, struct error *err)
{
    if (!s->has_signal || s->time_limit_s <= 0)
        return 0;
    if (s->signal.seconds_before >= s->time_limit_s)
        return error_set(err, -EINVAL,
                         "--signal: %lld s before the time limit the job has "
                         "not begun; the limit is %lld s",
                         (long long)s->signal.seconds_before, (long long)s->time_limit_s);
    return 0;
}

static int
check_recurrence(const struct submission *s, struct error *err)
{
    const char *other = s->wait               ? "--wait"
                        : s->hold             ? "--hold"
                        : s->begin_at_us != 0 ? "--begin"
                        : s->deadline_us != 0 ? "--deadline"
                                              : NULL;

    if (s->cron == NULL)
        return 0;
    if (other != NULL)
        return error_set(err, -EINVAL,
                         "%s is for a single job, but --cron starts many; "
                         "leave one of them out",
                         other);
    /* A named job has ended before most of the scheduled jobs start. */
    if (s->dependency != NULL && strcmp(s->dependency, "singleton") != 0)
        return error_set(err, -EINVAL,
                         "--dependency %s names particular jobs, but --cron "
                         "creates a job repeatedly; with --cron, only "
                         "singleton is allowed",
                         s->dependency);
    return 0;
}

struct json *
manifest_make(const struct submission *s, const struct strbuf *script, struct arena *arena,
              struct error *err)
{
    struct json *job = json_object(arena);

    if (check_texts(s, err) < 0 || check_sums(s, err) < 0 || check_warning(s, err) < 0
        || check_recurrence(s, err) < 0)
        return NULL;
    json_set_string(arena, job, "apiVersion", "batch/v1");
    json_set_string(arena, job, "kind", "Job");
    json_set(arena, job, "metadata", metadata(arena, s));
    if (fill_job(arena, json_make_object(arena, job, "spec"), s, script, err) < 0)
        return NULL;
    return job;
}
