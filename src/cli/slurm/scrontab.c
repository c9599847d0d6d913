/* SPDX-License-Identifier: Apache-2.0 */
/* scrontab - the user's recurring jobs as a table
 *
 * Each entry is a CronJob with the lines of its entry in an annotation, so the table
 * is where the jobs are. A new table replaces the old one entry by entry: those that
 * are as before stay, with their running jobs; new ones are created before others are
 * deleted, and none is if one of them is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ksub/cron_submit.h"
#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/submission_input.h"
#include "cli/ksub/submission_set.h"
#include "cli/slurm/scrontab_table.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

#define ANNOTATION_TEXT  "kiln.hpc/scrontab"
#define ANNOTATION_SHELL "kiln.hpc/scrontab-environment"
#define ANNOTATION_LINE  "kiln.hpc/scrontab-line" /* the place in the table */

struct scrontab_options {
    struct slurm_common_options common;
    bool edit, list, remove, quiet, verbose;
    const char *user;
};

#define PLACE(member) .offset = offsetof(struct scrontab_options, member)

static const struct option_spec rows[] = {
    {.name = "edit",
     .letter = 'e',
     .help = "edit the table with $VISUAL, $EDITOR or vi",
     .type = OPTION_FLAG,
     PLACE(edit)},
    {.name = "list", .letter = 'l', .help = "print the table", .type = OPTION_FLAG, PLACE(list)},
    {.name = "quiet",
     .letter = 'Q',
     .help = "print only errors",
     .type = OPTION_FLAG,
     PLACE(quiet)},
    {.name = "remove",
     .letter = 'r',
     .help = "remove the table; jobs that run go on",
     .type = OPTION_FLAG,
     PLACE(remove)},
    {.name = "user",
     .letter = 'u',
     .argument = "USER",
     .help = "must be yourself",
     .type = OPTION_TEXT,
     PLACE(user)},
    {.name = "verbose", .letter = 'v', .help = "no effect", .type = OPTION_FLAG, PLACE(verbose)},
    SLURM_COMMON_OPTIONS,
};

static const struct option_table table = {
    .name = "scrontab",
    .usage = "[-e | -l | -r]\n[FILE | -]",
    .summary =
        "Edit, print or remove the table of your recurring jobs, or replace it by a file. A "
        "line is a comment, #SCRON with options of sbatch for the next entry, NAME=VALUE, or "
        "an entry: minute, hour, day, month, weekday (or @daily, ...), and a command.",
    OPTION_ROWS(rows),
};

static const char example[] =
    "# minute hour day month weekday command; #SCRON has options of sbatch for the next line\n"
    "#\n"
    "#SCRON_EXAMPLE --time=1:00:00 --output=nightly-%j.out\n"
    "#0 3 * * * $HOME/bin/nightly.sh\n";

/* An entry that exists. */
struct saved_entry {
    const char *name, *namespace, *text, *environment;
    long place;
    bool is_kept;
};

struct scrontab {
    struct slurm_client *client;
    const struct scrontab_options *o;
    struct arena *arena;
    struct saved_entry *saved;
    size_t n_saved;
};

/* ---- The table that there is ---- */

static int
compare_places(const void *a, const void *b)
{
    const struct saved_entry *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

static bool
is_own(const struct json *annotations)
{
    const char *uid = json_get_text(annotations, ANNOTATION_UID);

    return uid != NULL && strtoul(uid, NULL, 10) == geteuid();
}

static int
fetch(struct scrontab *s, struct error *err)
{
    const struct target_object all = {.kind = &cron_job_kind};
    const struct passwd *self = getpwuid(geteuid());
    struct json *items = NULL;
    int r;

    if (self == NULL)
        return error_set(err, -ENOENT, "there is no user with your uid");
    r = kctl_list(&s->client->kctl, &all, arena_printf(s->arena, LABEL_USER "=%s", self->pw_name),
                  NULL, s->arena, &items, err);
    if (r < 0)
        return r;
    s->saved = arena_new_array(s->arena, struct saved_entry, json_count(items) + 1);
    s->n_saved = 0;
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *meta = json_get(json_at(items, i), "metadata");
        const struct json *annotations = json_get(meta, "annotations");
        const char *text = json_get_text(annotations, ANNOTATION_TEXT);
        const char *environment = json_get_text(annotations, ANNOTATION_SHELL);
        const char *place = json_get_text(annotations, ANNOTATION_LINE);

        if (text != NULL && is_own(annotations) && json_get(meta, "deletionTimestamp") == NULL)
            s->saved[s->n_saved++] = (struct saved_entry){
                .name = json_get_text(meta, "name"),
                .namespace = json_get_text(meta, "namespace"),
                .text = text,
                .environment = environment != NULL ? environment : "",
                .place = place != NULL ? strtol(place, NULL, 10) : 0,
            };
    }
    qsort(s->saved, s->n_saved, sizeof(*s->saved), compare_places);
    return 0;
}

static const char *
write_table(const struct scrontab *s)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < s->n_saved; i++)
        strbuf_add_text(&out, s->saved[i].text);
    return arena_strdup(s->arena, out.length > 0 ? out.text : "");
}

/* ---- A new table ---- */

static const char *
home(void)
{
    const char *name = getenv("HOME");
    const struct passwd *self = getpwuid(geteuid());

    if (name != NULL && name[0] == '/')
        return name;
    return self != NULL ? self->pw_dir : "/";
}

/* The words of a command line of sbatch. */
static char **
make_words(const struct scrontab *s, const struct scrontab_entry *e, int *ret_argc)
{
    char **words = arena_new_array(s->arena, char *, e->n_words + 8);
    int n = 0;

    words[n++] = arena_strdup(s->arena, "scrontab");
    words[n++] = arena_strdup(s->arena, "--export=NONE");
    words[n++] = arena_printf(s->arena, "--chdir=%s", home());
    words[n++] =
        arena_printf(s->arena, "--job-name=%s", scrontab_table_job_name(e->command, s->arena));
    for (size_t i = 0; i < e->n_words; i++)
        words[n++] = e->words[i];
    words[n++] = arena_printf(s->arena, "--wrap=%s%s", e->environment, e->command);
    words[n] = NULL;
    *ret_argc = n;
    return words;
}

/* Whether such a job could be submitted now: a CronJob does not tell. */
static int
check_job(const struct scrontab *s, const struct submission *submission, const struct json *job,
          struct error *err)
{
    CLEANUP(object_unrefp) const struct object *made = NULL;
    CLEANUP_STRBUF struct strbuf warnings = STRBUF_INIT;
    int r = kctl_open(&s->client->kctl, err);

    return r < 0 ? r
                 : job_submit_run(
                     &(struct job_submit){.warnings = &warnings,
                                          .client = kctl_client(&s->client->kctl),
                                          .namespace = manifest_namespace(submission),
                                          .job = job,
                                          .dry_run = true,
                                          .patience_ms = slurm_client_patience_ms(s->client)},
                     &made, err);
}

/* The CronJob of an entry. Its name ends in letters of the server's choice. */
static int
make_object(const struct scrontab *s, const struct scrontab_entry *e, size_t place,
            struct submission_input *input, struct json **ret, struct error *err)
{
    int argc = 0;
    char **argv = make_words(s, e, &argc);
    struct json *meta, *annotations;
    const struct json *job;
    int r = submission_input_read_sbatch(input, NULL, 0, argc, argv, err);

    if (r > 0)
        return error_set(err, -EINVAL, "--help and --version are only for the command line");
    if (r == 0)
        r = submission_set_cron(NULL, e->schedule, &input->submission, err);
    if (r < 0)
        return r;
    job = manifest_make(&input->submission, &input->script, s->arena, err);
    if (job == NULL)
        return err->code < 0 ? err->code : -EINVAL;
    r = check_job(s, &input->submission, job, err);
    if (r < 0)
        return r;
    *ret = cron_submit_manifest(&input->submission, job, s->arena);
    meta = json_get(*ret, "metadata");
    json_set(s->arena, meta, "generateName",
             json_stringf(s->arena, "%s-", json_get_text(meta, "name")));
    json_remove(meta, "name");
    annotations = json_make_object(s->arena, meta, "annotations");
    json_set_string(s->arena, annotations, ANNOTATION_TEXT, e->text);
    if (e->environment[0] != '\0')
        json_set_string(s->arena, annotations, ANNOTATION_SHELL, e->environment);
    json_set(s->arena, annotations, ANNOTATION_LINE, json_stringf(s->arena, "%zu", place));
    return 0;
}

static int
create(struct scrontab *s, const struct json *object, bool is_test, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &cron_job_kind,
        .namespace = json_path_text(object, "metadata.namespace"),
        .body = json_dup(s->arena, object),
        .query = is_test ? "fieldValidation=Strict&dryRun=All" : "fieldValidation=Strict",
    };

    return kctl_call(&s->client->kctl, &request, s->arena, NULL, err);
}

static int delete (struct scrontab *s, const struct saved_entry *e, struct error *err)
{
    struct json *body = json_object(s->arena);
    const struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &cron_job_kind,
        .namespace = e->namespace,
        .name = e->name,
        .body = body,
    };
    int r;

    json_set_string(s->arena, body, "apiVersion", "v1");
    json_set_string(s->arena, body, "kind", "DeleteOptions");
    json_set_string(s->arena, body, "propagationPolicy", "Orphan"); /* jobs that run go on */
    r = kctl_call(&s->client->kctl, &request, s->arena, NULL, err);
    return r == -ENOENT ? 0 : r;
}

static int
move(struct scrontab *s, const struct saved_entry *e, size_t place, struct error *err)
{
    const struct target_object object = {
        .kind = &cron_job_kind, .namespace = e->namespace, .name = e->name};
    struct json *patch = json_object(s->arena);
    struct json *meta = json_make_object(s->arena, patch, "metadata");

    json_set(s->arena, json_make_object(s->arena, meta, "annotations"), ANNOTATION_LINE,
             json_stringf(s->arena, "%zu", place));
    return kctl_patch(&s->client->kctl, &object, patch, s->arena, NULL, err);
}

static struct saved_entry *
find_same(struct scrontab *s, const struct scrontab_entry *e)
{
    for (size_t i = 0; i < s->n_saved; i++)
        if (!s->saved[i].is_kept && strcmp(s->saved[i].text, e->text) == 0
            && strcmp(s->saved[i].environment, e->environment) == 0)
            return &s->saved[i];
    return NULL;
}

/* Objects of the entries that are new; NULL for those that stay. */
static int
prepare(struct scrontab *s, const struct scrontab_table *t, struct json **objects,
        struct saved_entry **kept, struct error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct scrontab_entry *e = &t->entries[i];
        CLEANUP_SUBMISSION_INPUT struct submission_input input = {0};
        int r;

        kept[i] = find_same(s, e);
        if (kept[i] != NULL) {
            kept[i]->is_kept = true;
            continue;
        }
        r = make_object(s, e, i, &input, &objects[i], err);
        if (r == 0)
            r = create(s, objects[i], true, err);
        if (r < 0)
            return error_wrap(err, r, "line %u", e->line);
    }
    return 0;
}

static int
replace(struct scrontab *s, const struct scrontab_table *t, struct error *err)
{
    struct json **objects = arena_new_array(s->arena, struct json *, t->count + 1);
    struct saved_entry **kept = arena_new_array(s->arena, struct saved_entry *, t->count + 1);
    int r;

    memset(objects, 0, (t->count + 1) * sizeof(*objects));
    memset(kept, 0, (t->count + 1) * sizeof(*kept));
    r = prepare(s, t, objects, kept, err);
    for (size_t i = 0; r == 0 && i < t->count; i++)
        if (objects[i] != NULL)
            r = create(s, objects[i], false, err);
        else if (kept[i]->place != (long)i)
            r = move(s, kept[i], i, err);
    for (size_t i = 0; r == 0 && i < s->n_saved; i++)
        if (!s->saved[i].is_kept)
            r = delete (s, &s->saved[i], err);
    return r;
}

/* ---- The editor ---- */

static int
run_editor(const char *path, struct arena *arena, struct error *err)
{
    const char *editor = getenv("VISUAL");
    char *argv[] = {arena_strdup(arena, "sh"), arena_strdup(arena, "-c"), NULL,
                    arena_strdup(arena, "sh"), arena_strdup(arena, path), NULL};
    pid_t pid;
    int status = 0, r;

    if (editor == NULL || editor[0] == '\0')
        editor = getenv("EDITOR");
    if (editor == NULL || editor[0] == '\0')
        editor = "vi";
    argv[2] = arena_printf(arena, "%s \"$1\"", editor);
    r = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
    if (r != 0)
        return error_set(err, -r, "running '%s': %s", editor, strerror(r));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(err, -errno, "waiting for '%s': %s", editor, strerror(errno));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : error_set(err, -ECANCELED, "'%s' has failed; the table is as before", editor);
}

static bool
wants_another_try(void)
{
    int answer, rest;

    fprintf(stderr, "The table is as before. Do you want to edit it again? (y/N) ");
    answer = getchar();
    for (rest = answer; rest != '\n' && rest != EOF;)
        rest = getchar();
    return answer == 'y' || answer == 'Y';
}

static int
take(struct scrontab *s, const char *text, struct error *err)
{
    struct scrontab_table t;
    int r = scrontab_table_parse(text, s->arena, &t, err);

    for (size_t i = 0; i < s->n_saved; i++)
        s->saved[i].is_kept = false;
    return r < 0 ? r : replace(s, &t, err);
}

static int
edit_file(struct scrontab *s, const char *path, const char *before, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = run_editor(path, s->arena, err);

    if (r == 0)
        r = file_read(path, SCRONTAB_BYTES_MOST, &text, err);
    if (r < 0 || strcmp(text.length > 0 ? text.text : "", before) == 0)
        return r;
    return take(s, text.length > 0 ? text.text : "", err);
}

static int
edit(struct scrontab *s, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    char *path = arena_printf(s->arena, "%s/scrontab.XXXXXX",
                              folder != NULL && folder[0] == '/' ? folder : "/tmp");
    const char *before = s->n_saved > 0 ? write_table(s) : example;
    int fd = mkstemp(path);
    int r;

    if (fd < 0)
        return error_set(err, -errno, "making '%s': %s", path, strerror(errno));
    r = fd_write_all(fd, before, strlen(before));
    close(fd);
    if (r < 0)
        error_set(err, r, "writing '%s': %s", path, strerror(-r));
    while (r == 0) {
        r = edit_file(s, path, before, err);
        if (r >= 0 || r == -ECANCELED || !isatty(STDIN_FILENO))
            break;
        slurm_client_error(s->client, "%s", slurm_client_reason(r, err));
        *err = (struct error){0};
        if (!wants_another_try()) {
            unlink(path);
            return error_set(err, -ECANCELED, "the table is as before");
        }
        r = 0;
    }
    unlink(path);
    return r;
}

/* ---- The command ---- */

static int
take_file(struct scrontab *s, const char *path, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = strcmp(path, "-") == 0 ? fd_read_all(STDIN_FILENO, SCRONTAB_BYTES_MOST, &text)
                                   : file_read(path, SCRONTAB_BYTES_MOST, &text, err);

    if (r < 0 && err->code == 0)
        return error_set(err, r, "reading the table: %s", strerror(-r));
    return r < 0 ? r : take(s, text.length > 0 ? text.text : "", err);
}

static int
list(struct scrontab *s)
{
    const struct passwd *self = getpwuid(geteuid());

    if (s->n_saved == 0) {
        fprintf(stderr, "no crontab for %s\n", self != NULL ? self->pw_name : "you");
        return 1;
    }
    fputs(write_table(s), stdout);
    return slurm_client_end(s->client);
}

static bool
is_self(const char *user)
{
    const struct passwd *self = getpwuid(geteuid());

    return user == NULL || (self != NULL && strcmp(self->pw_name, user) == 0);
}

static int
run(struct scrontab *s, const char *operand)
{
    const struct scrontab_options *o = s->o;
    struct error err = {0};
    int r = fetch(s, &err);

    if (r == 0 && o->list)
        return list(s);
    if (r == 0 && o->remove)
        r = take(s, "", &err);
    else if (r == 0 && (o->edit || (operand == NULL && isatty(STDIN_FILENO))))
        r = edit(s, &err);
    else if (r == 0)
        r = take_file(s, operand != NULL ? operand : "-", &err);
    if (r < 0)
        return slurm_client_fail(s->client, NULL, r, &err);
    return slurm_client_end(s->client);
}

static int
scrontab_run(struct slurm_client *client, int argc, char **argv)
{
    struct scrontab_options o = {0};
    struct scrontab s = {.client = client, .o = &o, .arena = client->arena};
    const int at = slurm_client_options(client, &table, argc, argv, &o);

    if (argc - at > 1 || o.edit + o.list + o.remove + (at < argc) > 1) {
        slurm_client_error(client, "Only one of -e, -l, -r and a file");
        return 1;
    }
    if (!is_self(o.user)) {
        slurm_client_error(client,
                           "Only your own table: jobs run as the user who submits them; 'kctl "
                           "jobs --cron --user %s' lists another's",
                           o.user);
        return 1;
    }
    return run(&s, at < argc ? argv[at] : NULL);
}

const struct slurm_command scrontab_slurm_command = {
    .name = "scrontab",
    .summary = "edit the table of your recurring jobs",
    .run = scrontab_run,
};
