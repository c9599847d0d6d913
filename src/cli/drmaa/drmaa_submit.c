/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a template may be anything that is found on the node, and what is in a file
 * of that name here does not matter; so the script is one line that becomes the command, and
 * no directives are read from a file that the user has not named as a script.
 */
#include "cli/drmaa/drmaa.h"
#include "cli/drmaa/drmaa_program.h"
#include "cli/drmaa/drmaa_session.h"
#include "cli/drmaa/drmaa_template.h"
#include "cli/drmaa/drmaa_time.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A submission in the making. */
struct drmaa_submission {
    const drmaa_job_template_t *template;
    bool is_array;
    struct drmaa_words options;
    char *script;
    char *diagnosis;
    size_t size;
};

static int
refuse(struct drmaa_submission *job, const char *name, const char *why)
{
    return diagnose(job->diagnosis, job->size, DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE, "%s: %s", name,
                    why);
}

static void
put_home(FILE *stream)
{
    char buffer[4096];
    struct passwd entry, *user = NULL;
    const char *home = getenv("HOME");
    if (home == NULL && getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &user) == 0
        && user != NULL)
        home = user->pw_dir;
    fputs(home != NULL ? home : "", stream);
}

static bool
skip_word(const char **text, const char *word)
{
    if (strncmp(*text, word, strlen(word)) != 0)
        return false;
    *text += strlen(word);
    return true;
}

/* Writes a path with DRMAA's placeholders as ksub wants it, where % has a meaning in files. */
static int
put_path(struct drmaa_submission *job, FILE *stream, const char *name, const char *path,
         bool is_file)
{
    while (*path != '\0') {
        if (skip_word(&path, DRMAA_PLACEHOLDER_HD)) {
            put_home(stream);
        } else if (is_file && skip_word(&path, DRMAA_PLACEHOLDER_WD)) {
            const char *wd = job->template->scalar[SCALAR_WD];
            char here[4096];
            if (wd == NULL)
                wd = getcwd(here, sizeof here);
            int code = wd != NULL ? put_path(job, stream, DRMAA_WD, wd, false) : 0;
            if (code != DRMAA_ERRNO_SUCCESS)
                return code;
        } else if (skip_word(&path, DRMAA_PLACEHOLDER_INCR)) {
            if (!is_file)
                return refuse(
                    job, name,
                    "all tasks of a job array begin in one directory, so " DRMAA_PLACEHOLDER_INCR
                    " cannot be in it");
            if (!job->is_array)
                return refuse(job, name,
                              DRMAA_PLACEHOLDER_INCR
                              " is for drmaa_run_bulk_jobs(); this job has no number");
            fputs("%a", stream);
        } else {
            if (*path == '%' && is_file)
                fputc('%', stream);
            fputc(*path++, stream);
        }
    }
    return DRMAA_ERRNO_SUCCESS;
}

static int
add_path(struct drmaa_submission *job, enum scalar scalar, const char *name, const char *option)
{
    const char *path = job->template->scalar[scalar];
    if (path == NULL)
        return DRMAA_ERRNO_SUCCESS;
    bool is_file = scalar != SCALAR_WD;
    if (is_file) {
        char here[256] = "";
        gethostname(here, sizeof here - 1);
        size_t host = strcspn(path, ":");
        if (host > 0 && !(strncmp(path, here, host) == 0 && here[host] == '\0')
            && !(host == 9 && strncmp(path, "localhost", 9) == 0))
            return refuse(job, name,
                          "Kiln does not transfer files to a host: leave it out "
                          "(:PATH), and the job's node opens the file");
        path += host + 1;
    }
    if (*path == '\0')
        return refuse(job, name, "the path is empty");
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return diagnose(job->diagnosis, job->size, DRMAA_ERRNO_NO_MEMORY, NULL);
    int code = put_path(job, stream, name, path, is_file);
    fclose(stream);
    if (code == DRMAA_ERRNO_SUCCESS)
        words_add(&job->options, "%s=%s", option, text != NULL ? text : "");
    free(text);
    return code;
}

static int
add_paths(struct drmaa_submission *job)
{
    char *const *scalar = job->template->scalar;
    int code = add_path(job, SCALAR_WD, DRMAA_WD, "--chdir");
    if (code == DRMAA_ERRNO_SUCCESS)
        code = add_path(job, SCALAR_INPUT_PATH, DRMAA_INPUT_PATH, "--input");
    if (code == DRMAA_ERRNO_SUCCESS)
        code = add_path(job, SCALAR_OUTPUT_PATH, DRMAA_OUTPUT_PATH, "--output");
    /* Joined, both go where the output goes, which is what ksub does by itself. */
    bool is_joined = scalar[SCALAR_JOIN_FILES] != NULL && *scalar[SCALAR_JOIN_FILES] == 'y';
    if (code == DRMAA_ERRNO_SUCCESS && !is_joined)
        code = add_path(job, SCALAR_ERROR_PATH, DRMAA_ERROR_PATH, "--error");
    return code;
}

static int
add_time(struct drmaa_submission *job, enum scalar scalar, const char *name, const char *option)
{
    const char *text = job->template->scalar[scalar];
    int64_t when, now = time_now();
    if (text == NULL)
        return DRMAA_ERRNO_SUCCESS;
    struct tm tm;
    time_t seconds;
    if (!time_parse(text, now, &when) || (seconds = (time_t)when, !gmtime_r(&seconds, &tm)))
        return refuse(job, name, "this is not a time");
    /* A start in the past is a start at once; ksub refuses it. */
    if (scalar == SCALAR_START_TIME && when <= now)
        return DRMAA_ERRNO_SUCCESS;
    char written[32];
    strftime(written, sizeof written, "%Y-%m-%dT%H:%M:%SZ", &tm);
    words_add(&job->options, "%s=%s", option, written);
    return DRMAA_ERRNO_SUCCESS;
}

static int
add_limit(struct drmaa_submission *job)
{
    const char *elapsed = job->template->scalar[SCALAR_WCT_HLIMIT];
    const char *run = job->template->scalar[SCALAR_DURATION_HLIMIT];
    int64_t a = INT64_MAX, b = INT64_MAX;
    if (elapsed != NULL)
        duration_parse(elapsed, &a);
    if (run != NULL)
        duration_parse(run, &b);
    if (elapsed != NULL || run != NULL)
        words_add(&job->options, "--time=%llds", (long long)(a < b ? a : b));
    return DRMAA_ERRNO_SUCCESS;
}

static void
add_mail(struct drmaa_submission *job)
{
    const struct drmaa_words *mail = &job->template->vector[VECTOR_EMAIL];
    const char *block = job->template->scalar[SCALAR_BLOCK_EMAIL];
    if (block != NULL && *block == '1') {
        words_add(&job->options, "--mail-type=NONE");
    } else if (mail->count > 0) {
        words_add(&job->options, "--mail-type=END,FAIL");
        for (size_t i = 0; i < mail->count; i++)
            words_add(&job->options, "--mail-user=%s", mail->word[i]);
    }
}

/* Splits the options as a shell would: quotes and backslashes, but nothing is expanded. */
static int
add_native(struct drmaa_submission *job)
{
    const char *text = job->template->scalar[SCALAR_NATIVE_SPECIFICATION];
    char *word = text != NULL ? malloc(strlen(text) + 1) : NULL;
    if (text != NULL && word == NULL)
        return diagnose(job->diagnosis, job->size, DRMAA_ERRNO_NO_MEMORY, NULL);
    while (text != NULL && *(text += strspn(text, " \t\n")) != '\0') {
        size_t length = 0;
        char quote = 0;
        for (; *text != '\0' && (quote != 0 || strchr(" \t\n", *text) == NULL); text++) {
            if (quote == 0 && (*text == '\'' || *text == '"'))
                quote = *text;
            else if (*text == quote)
                quote = 0;
            else if (*text == '\\' && quote != '\'' && text[1] != '\0')
                word[length++] = *++text;
            else
                word[length++] = *text;
        }
        word[length] = '\0';
        if (quote != 0) {
            free(word);
            return refuse(job, DRMAA_NATIVE_SPECIFICATION, "a quote is not closed");
        }
        words_add(&job->options, "%s", word);
    }
    free(word);
    return DRMAA_ERRNO_SUCCESS;
}

static void
put_quoted(FILE *stream, const char *word)
{
    fputc('\'', stream);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            fputs("'\\''", stream);
        else
            fputc(*word, stream);
    fputc('\'', stream);
}

/* The command may be any program that is found on the node, so the script is a line that becomes
 * it; directives in a script that is named are not read.
 */
static int
make_script(struct drmaa_submission *job)
{
    const struct drmaa_words *arguments = &job->template->vector[VECTOR_ARGV];
    size_t length;
    FILE *stream = open_memstream(&job->script, &length);
    if (stream == NULL)
        return diagnose(job->diagnosis, job->size, DRMAA_ERRNO_NO_MEMORY, NULL);
    fputs("#!/bin/sh\nexec ", stream);
    put_quoted(stream, job->template->scalar[SCALAR_REMOTE_COMMAND]);
    for (size_t i = 0; i < arguments->count; i++) {
        fputc(' ', stream);
        put_quoted(stream, arguments->word[i]);
    }
    fputc('\n', stream);
    if (fclose(stream) != 0)
        return diagnose(job->diagnosis, job->size, DRMAA_ERRNO_NO_MEMORY, NULL);
    return DRMAA_ERRNO_SUCCESS;
}

static int
describe(struct drmaa_submission *job)
{
    char *const *scalar = job->template->scalar;
    const char *command = scalar[SCALAR_REMOTE_COMMAND];
    if (command == NULL || *command == '\0')
        return refuse(job, DRMAA_REMOTE_COMMAND, "it is not set");
    const char *slash = strrchr(command, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : command;
    words_add(&job->options, "--parsable");
    words_add(&job->options, "--job-name=%s",
              scalar[SCALAR_JOB_NAME] != NULL ? scalar[SCALAR_JOB_NAME] : name);
    if (scalar[SCALAR_JS_STATE] != NULL
        && strcmp(scalar[SCALAR_JS_STATE], DRMAA_SUBMISSION_STATE_HOLD) == 0)
        words_add(&job->options, "--hold");
    add_mail(job);
    int code = add_paths(job);
    if (code == DRMAA_ERRNO_SUCCESS)
        code = add_time(job, SCALAR_START_TIME, DRMAA_START_TIME, "--begin");
    if (code == DRMAA_ERRNO_SUCCESS)
        code = add_time(job, SCALAR_DEADLINE_TIME, DRMAA_DEADLINE_TIME, "--deadline");
    if (code == DRMAA_ERRNO_SUCCESS)
        code = add_limit(job);
    if (code == DRMAA_ERRNO_SUCCESS)
        code = add_native(job);
    if (code == DRMAA_ERRNO_SUCCESS)
        code = make_script(job);
    return code;
}

/* ret_id: to be freed. */
static int
submit(struct drmaa_submission *job, char **ret_id)
{
    struct program_result result = {};
    *ret_id = NULL;
    int code = describe(job);
    if (code == DRMAA_ERRNO_SUCCESS)
        code = program_run("ksub", &job->options, &job->template->vector[VECTOR_ENV], job->script,
                           &result, job->diagnosis, job->size);
    if (code == DRMAA_ERRNO_SUCCESS) {
        size_t digits = strspn(result.output, "0123456789");
        if (digits > 0 && strcmp(result.output + digits, "\n") == 0) {
            result.output[digits] = '\0';
            *ret_id = strdup(result.output);
            if (*ret_id == NULL)
                code = diagnose(job->diagnosis, job->size, DRMAA_ERRNO_NO_MEMORY, NULL);
        } else if (result.exit_code == 0) {
            code = refuse(job, DRMAA_NATIVE_SPECIFICATION,
                          "with these options ksub printed no id of a job");
        } else {
            code = program_failure("ksub", &result, job->diagnosis, job->size);
            if (code == DRMAA_ERRNO_INVALID_JOB) /* no such file or job, of an option */
                code = DRMAA_ERRNO_DENIED_BY_DRM;
        }
    }
    program_result_clear(&result);
    words_clear(&job->options);
    free(job->script);
    return code;
}

DRMAA_EXPORT int
drmaa_run_job(char *job_id, size_t job_id_len, const drmaa_job_template_t *jt,
              char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL || job_id == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT, NULL);
    struct drmaa_submission job = {
        .template = jt, .diagnosis = error_diagnosis, .size = error_diag_len};
    char *id;
    code = submit(&job, &id);
    if (code == DRMAA_ERRNO_SUCCESS) {
        session_add(id);
        put_text(job_id, job_id_len, id);
    }
    free(id);
    return code;
}

DRMAA_EXPORT int
drmaa_run_bulk_jobs(drmaa_job_ids_t **jobids, const drmaa_job_template_t *jt, int start, int end,
                    int incr, char *error_diagnosis, size_t error_diag_len)
{
    int code = session_check(error_diagnosis, error_diag_len);
    if (code != DRMAA_ERRNO_SUCCESS)
        return code;
    if (jt == NULL || jobids == NULL || start < 1 || end < start || incr < 1)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_INVALID_ARGUMENT,
                        "jobs in bulk need 1 <= start <= end and an increment above 0, not %d, "
                        "%d and %d",
                        start, end, incr);
    drmaa_job_ids_t *list = calloc(1, sizeof *list);
    if (list == NULL)
        return diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    struct drmaa_submission job = {
        .template = jt, .is_array = true, .diagnosis = error_diagnosis, .size = error_diag_len};
    words_add(&job.options, "--array=%d-%d:%d", start, end, incr);
    char *id;
    code = submit(&job, &id);
    for (long i = start; code == DRMAA_ERRNO_SUCCESS && i <= end; i += incr)
        words_add(&list->words, "%s_%ld", id, i);
    free(id);
    if (code == DRMAA_ERRNO_SUCCESS && list->words.is_out_of_memory)
        code = diagnose(error_diagnosis, error_diag_len, DRMAA_ERRNO_NO_MEMORY, NULL);
    if (code != DRMAA_ERRNO_SUCCESS) {
        drmaa_release_job_ids(list);
        return code;
    }
    for (size_t i = 0; i < list->words.count; i++)
        session_add(list->words.word[i]);
    *jobids = list;
    return DRMAA_ERRNO_SUCCESS;
}
