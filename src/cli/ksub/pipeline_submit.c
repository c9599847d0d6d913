/* SPDX-License-Identifier: Apache-2.0 */
/* Ten jobs of which the seventh has a mistake must not become six jobs. So all stages are
 * read, all problems are printed at once, and one request with one key creates all or none.
 */
#include "cli/ksub/pipeline_submit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/connect/connection.h"
#include "cli/connect/inquiry.h"
#include "cli/ksub/ksub_options.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/pipeline_file.h"
#include "cli/ksub/sbatch_options.h"
#include "cli/ksub/script_hints.h"
#include "cli/ksub/submission_input.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/program.h"
#include "lib/yaml/yaml.h"

#define TARGET         "/kiln/v1/pipelines"
#define BYTES_MOST     (16u << 20) /* of a request */
#define PATIENCE_US    INT64_C(30000000)
#define SAY_US         INT64_C(1000000)
#define FIRST_PAUSE_MS 100
#define MOST_PAUSE_MS  2000
#define PAUSE_SHARE    12 /* of the time so far */

struct pipeline_submit {
    const struct submission *common;
    struct arena *arena;
    struct pipeline_words words; /* of the command line */
    struct pipeline_file file;
    struct json **jobs; /* of the stages */
    unsigned n_problems;
};

/* "pipe.yaml:7: stage 'train'", or the script of a chain */
static const char *
place_of(const struct pipeline_submit *p, const struct pipeline_stage *s)
{
    if (p->file.path == NULL)
        return s->script;
    return arena_printf(p->arena, "%s:%u: stage '%s'", p->file.path, s->line, s->name);
}

/* ---- A stage ---- */

static int
check_options(const struct pipeline_submit *p, const struct pipeline_words *options,
              struct error *err)
{
    const struct option_table *table = p->common->sbatch ? sbatch_options() : &ksub_options;
    char **argv = arena_new_array(p->arena, char *, options->count + 2);
    struct submission s = {0};
    int operands = 0;
    int r;

    argv[0] = arena_strdup(p->arena, "ksub");
    if (options->count > 0)
        memcpy(argv + 1, options->items, options->count * sizeof(*argv));
    argv[options->count + 1] = NULL;
    r = option_parse(table, (int)options->count + 1, argv, &s, &operands, err);
    if (r < 0)
        return r;
    if (operands < (int)options->count + 1)
        return error_set(err, -EINVAL, "'%s' is not an option", argv[operands]);
    if (r == OPTION_HELP || r == OPTION_VERSION || s.chain || s.cron != NULL || s.dry_run
        || s.parsable || s.is_interactive || s.pipeline != NULL || s.sbatch || s.server != NULL
        || s.test_only || s.wait || s.wrapped != NULL)
        return error_set(err, -EINVAL,
                         "a stage takes the options of a job; --server, "
                         "--parsable, --test-only, --dry-run and --sbatch "
                         "are for the command line, --wait, --cron, --chain "
                         "and --pipeline do not go with a stage, and wrap: "
                         "is its own key");
    return 0;
}

static void
add_words(char **argv, int *argc, const struct pipeline_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        argv[(*argc)++] = words->items[i];
}

/* The command line of the stage: the name of the stage is the job's name,
 * unless an option sets another.
 */
static char **
make_line(const struct pipeline_submit *p, const struct pipeline_stage *s, int *ret_argc)
{
    char **argv = arena_new_array(p->arena, char *,
                                  p->words.count + p->file.options.count + s->options.count
                                      + s->arguments.count + 6);
    int argc = 0;

    argv[argc++] = arena_strdup(p->arena, "ksub");
    if (p->file.path != NULL)
        argv[argc++] = arena_printf(p->arena, "--job-name=%s", s->name);
    add_words(argv, &argc, &p->words);
    add_words(argv, &argc, &p->file.options);
    add_words(argv, &argc, &s->options);
    if (s->wrapped != NULL)
        argv[argc++] = arena_printf(p->arena, "--wrap=%s", s->wrapped);
    argv[argc++] = arena_strdup(p->arena, "--");
    if (s->script != NULL)
        argv[argc++] = arena_strdup(p->arena, s->script);
    add_words(argv, &argc, &s->arguments);
    argv[argc] = NULL;
    *ret_argc = argc;
    return argv;
}

/* Adds the dependencies of the file to those of -d, from the stage or from the
 * command line.
 */
static int
add_dependencies(const struct pipeline_submit *p, const struct pipeline_stage *s, struct json *job,
                 struct error *err)
{
    struct json *spec = json_get(job, "spec");
    struct json *said = json_get(spec, "dependencies");
    struct json *jobs = json_get(said, "jobs");
    struct json *after = json_get(s->after, "jobs");

    if (s->after == NULL)
        return 0;
    if (said == NULL) {
        json_set(p->arena, spec, "dependencies", json_dup(p->arena, s->after));
        return 0;
    }
    if (json_get(said, "require") != NULL || json_get(s->after, "require") != NULL)
        return error_set(err, -EINVAL,
                         "the stage has dependencies both from --dependency "
                         "and from the file, and one of them waits for any "
                         "(?) of its jobs; put a stage in between that waits "
                         "for one of them");
    for (uint32_t i = 0; i < json_count(after); i++)
        json_append(p->arena, jobs, json_dup(p->arena, json_at(after, i)));
    return 0;
}

static void
print_problem(struct pipeline_submit *p, const struct pipeline_stage *s, const struct error *err)
{
    p->n_problems++;
    fprintf(stderr, "ksub: %s: %s\n", place_of(p, s), err->text);
}

/* Prints problems of a script, which contain their line numbers. */
static void
print_problems(struct pipeline_submit *p, const struct pipeline_stage *s,
               const struct submission_input *input)
{
    char *rest = input->problems.text;
    char *line;

    p->n_problems += input->n_problems;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        fprintf(stderr, "ksub: %s%s%s\n", p->file.path != NULL ? place_of(p, s) : "",
                p->file.path != NULL ? ": " : "", line);
}

static void
read_stage(struct pipeline_submit *p, size_t i)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input = {0};
    const struct pipeline_stage *s = &p->file.stages[i];
    struct error err = {0};
    int argc;
    char **argv;

    if (check_options(p, &s->options, &err) < 0) {
        print_problem(p, s, &err);
        return;
    }
    argv = make_line(p, s, &argc);
    if (submission_input_read_stage(&input, argc, argv, &err) < 0) {
        if (input.n_problems > 0)
            print_problems(p, s, &input);
        else
            print_problem(p, s, &err);
        return;
    }
    script_hints_print(&input);
    p->jobs[i] = manifest_make(&input.submission, &input.script, p->arena, &err);
    if (p->jobs[i] == NULL || add_dependencies(p, s, p->jobs[i], &err) < 0)
        print_problem(p, s, &err);
}

/* ---- The request ---- */

static struct json *
make_request(const struct pipeline_submit *p)
{
    struct json *body = json_object(p->arena);
    struct json *stages = json_array(p->arena);
    char key[UUID_SIZE];

    random_uuid(key);
    json_set_string(p->arena, body, "key", key);
    if (p->common->test_only)
        json_set_bool(p->arena, body, "dryRun", true);
    for (size_t i = 0; i < p->file.count; i++) {
        const size_t at = p->file.order[i];
        struct json *one = json_object(p->arena);

        json_set_string(p->arena, one, "name", p->file.stages[at].name);
        json_set(p->arena, one, "job", p->jobs[at]);
        json_append(p->arena, stages, one);
    }
    json_set(p->arena, body, "stages", stages);
    return body;
}

static bool
leaves_in_doubt(int r)
{
    return r == -ECONNRESET || r == -EPIPE || r == -ETIMEDOUT || r == -ECONNABORTED;
}

static int
print_doubt(const struct pipeline_submit *p, int r, struct error *err)
{
    if (p->common->test_only)
        return r;
    return error_wrap(err, r,
                      "no answer came, and the pipeline may have been "
                      "submitted (when the controller is back, 'kctl jobs' "
                      "shows whether it was)");
}

/* Retries until there is an answer, as for a single job. */
static int
send(const struct pipeline_submit *p, const struct json *body, struct json **ret_answer,
     struct error *err)
{
    CLEANUP(connection_closep) struct connection *connection = NULL;
    const int64_t began = clock_monotonic_us(&clock_system);
    bool in_doubt = false, is_said = false;
    int r = connection_open(p->common->server, NULL, CONNECTION_OFTEN, &connection, err);

    while (r == 0) {
        int64_t left_us, pause_ms;

        *err = (struct error){0};
        r = inquiry_run(connection, HTTP_POST, TARGET, body, p->arena, ret_answer, err);
        if (r == 0)
            return 0;
        in_doubt = in_doubt || leaves_in_doubt(r);
        left_us = began + PATIENCE_US - clock_monotonic_us(&clock_system);
        pause_ms = backoff_share((PATIENCE_US - left_us) / 1000, PAUSE_SHARE, FIRST_PAUSE_MS,
                                 MOST_PAUSE_MS);
        if ((!leaves_in_doubt(r) && r != -EAGAIN && r != -ECONNREFUSED
             && !(in_doubt && *ret_answer == NULL))
            || left_us < pause_ms * 1000)
            return in_doubt && *ret_answer == NULL ? print_doubt(p, r, err) : r;
        if (!is_said && left_us < PATIENCE_US - SAY_US) {
            is_said = true;
            fprintf(stderr, "ksub: no answer yet, trying for %lld s more: %s\n",
                    (long long)(left_us / 1000000), err->text);
        }
        nanosleep(
            &(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000},
            NULL);
        r = 0;
    }
    return r;
}

/* The server's error names the stage; adds the line of the file. */
static int
place_refusal(const struct pipeline_submit *p, int r, struct error *err)
{
    static const char begin[] = "stage '";
    const struct pipeline_stage *s = NULL;
    const size_t skipped = strlen(begin);
    const char *end;

    if (strncmp(err->text, begin, skipped) == 0
        && (end = strchr(err->text + skipped, '\'')) != NULL)
        s = pipeline_file_find(&p->file, arena_strndup(p->arena, err->text + skipped,
                                                       (size_t)(end - err->text) - skipped));
    if (s == NULL)
        return r;
    return error_set(err, r, "%s: %.700s; nothing was submitted", place_of(p, s),
                     arena_strdup(p->arena, end + strlen("': ")));
}

/* ---- The answer ---- */

static void
print_stage(const struct pipeline_submit *p, const struct json *list,
            const struct pipeline_stage *s)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *one = json_at(list, i);
        const char *name = json_get_text(one, "name");
        const struct json *warnings = json_get(one, "warnings");
        const int64_t id = json_get_int(one, "id", 0);

        if (name == NULL || strcmp(name, s->name) != 0)
            continue;
        for (uint32_t k = 0; k < json_count(warnings) && !p->common->quiet; k++)
            fprintf(stderr, "ksub: warning: %s: %s\n", place_of(p, s),
                    json_text(json_at(warnings, k)));
        if (p->common->test_only)
            return;
        if (p->common->parsable)
            printf("%" PRId64 "\n", id);
        else if (!p->common->quiet)
            printf("Submitted job %" PRId64 " (%s)\n", id, s->name);
    }
}

/* Prints the stages in the order of the file. */
static void
print_answer(const struct pipeline_submit *p, const struct json *answer)
{
    for (size_t i = 0; i < p->file.count; i++)
        print_stage(p, json_get(answer, "stages"), &p->file.stages[i]);
    if (p->common->test_only)
        printf("The controller would accept all %zu jobs.\n", p->file.count);
}

static void
print_manifests(const struct pipeline_submit *p)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *list = json_object(p->arena);
    struct json *items = json_array(p->arena);

    for (size_t i = 0; i < p->file.count; i++)
        json_append(p->arena, items, p->jobs[p->file.order[i]]);
    json_set_string(p->arena, list, "apiVersion", "v1");
    json_set_string(p->arena, list, "kind", "List");
    json_set(p->arena, list, "items", items);
    if (p->common->json)
        json_print_indented(list, &text);
    for (uint32_t i = 0; !p->common->json && i < json_count(items); i++) {
        strbuf_add_text(&text, i > 0 ? "---\n" : "");
        yaml_print(json_at(items, i), &text);
    }
    if (text.length > 0 && text.text[text.length - 1] != '\n')
        strbuf_add_char(&text, '\n');
    fwrite(text.text, 1, text.length, stdout);
}

/* ---- The whole submission ---- */

static int
check_common(const struct submission *s, int n_operands, char **operands, struct error *err)
{
    const char *option = s->chain ? "--chain" : "--pipeline";

    if (s->chain && s->pipeline != NULL)
        return error_set(err, -EINVAL, "give either --chain or --pipeline, not both");
    if (s->wrapped != NULL)
        return error_set(err, -EINVAL,
                         "--wrap does not go with %s; give a command for a "
                         "stage in the file (wrap: COMMAND)",
                         option);
    if (s->cron != NULL)
        return error_set(err, -EINVAL,
                         "--cron does not go with %s; instead, a recurring "
                         "job may submit the pipeline",
                         option);
    if (s->wait)
        return error_set(err, -EINVAL,
                         "--wait is for one job; wait for the last one with "
                         "'kctl wait'");
    if (s->pipeline != NULL && n_operands > 0)
        return error_set(err, -EINVAL,
                         "'%s' is not expected with --pipeline: scripts are "
                         "named in the file",
                         operands[0]);
    return 0;
}

/* The words before the operands, without the "--" between them. */
static struct pipeline_words
common_words(int operands, char **argv)
{
    size_t count = (size_t)operands - 1;

    if (count > 0 && strcmp(argv[operands - 1], "--") == 0)
        count--;
    return (struct pipeline_words){argv + 1, count};
}

static int
submit(struct pipeline_submit *p, struct error *err)
{
    struct json *answer = NULL;
    const struct json *body = make_request(p);
    int r;

    if (json_size(body) > BYTES_MOST)
        return error_set(err, -E2BIG,
                         "the scripts and environments of all stages are "
                         "more than 16 MiB; export less (--export), or "
                         "submit the pipeline in parts");
    r = send(p, body, &answer, err);
    if (r < 0)
        return place_refusal(p, r, err);
    print_answer(p, answer);
    return 0;
}

int
pipeline_submit_run(struct submission_input *common, int argc, char **argv, int *ret_status,
                    struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct submission *s = &common->submission;
    struct pipeline_submit p = {
        .common = s,
        .arena = arena,
        .words = common_words(common->operands, argv),
    };
    const int n_operands = argc - common->operands;
    int r = check_common(s, n_operands, argv + common->operands, err);

    if (r < 0)
        return r;
    r = s->chain
            ? pipeline_file_chain(argv + common->operands, (size_t)n_operands, arena, &p.file, err)
            : pipeline_file_read(s->pipeline, arena, &p.file, err);
    if (r < 0)
        return r;
    if (check_options(&p, &p.file.options, err) < 0)
        return error_wrap(err, -EINVAL, "%s: options", p.file.path);
    p.jobs = arena_new_array(arena, struct json *, p.file.count);
    for (size_t i = 0; i < p.file.count; i++)
        read_stage(&p, i);
    if (p.n_problems > 0) {
        fprintf(stderr, "ksub: %u problem%s, nothing was submitted\n", p.n_problems,
                p.n_problems == 1 ? "" : "s");
        *ret_status = EXIT_STATUS_USAGE;
        return 0;
    }
    if (!s->dry_run)
        return submit(&p, err);
    print_manifests(&p);
    return 0;
}
