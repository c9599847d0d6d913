/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/krun/krun_settings.h"
#include "cli/krun/krun_terminal.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_output_name.h"

static bool
is_own_file(const char *file)
{
    return file != NULL && strcasecmp(file, "all") != 0 && strcasecmp(file, "none") != 0
           && file[strspn(file, "0123456789")] != '\0'
           && step_output_name_scope(file) == STEP_OUTPUT_ONE;
}

static char *
expand(const struct krun_settings *s, const char *pattern, const char *step_id)
{
    struct strbuf name = STRBUF_INIT;
    const struct step_request *q = &s->request;
    const struct step_output_values values = {
        .job_id = q->job_id,
        .job_name = getenv("KILN_JOB_NAME"),
        .user = getenv("KILN_JOB_USER"),
        .array_job_id = getenv("KILN_ARRAY_JOB_ID"),
        .array_task_id = getenv("KILN_ARRAY_TASK_ID"),
        .step_id = step_id,
        .node = "",
    };

    if (pattern[0] != '/' && s->directory != NULL)
        strbuf_printf(&name, "%s/", q->directory);
    step_output_name_expand(pattern, &values, &name);
    return strbuf_take(&name);
}

static int
open_file(const struct krun_settings *s, const char *pattern, const char *step_id,
          enum step_stream stream, const int files[STEP_STREAMS], struct error *err)
{
    CLEANUP_FREE char *path = expand(s, pattern, step_id);
    const int how = s->request.streams.appends ? O_APPEND : O_TRUNC;
    CLEANUP_FD int fd = stream == STEP_STDIN
                            ? open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC)
                            : open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | how, 0666);

    if (fd < 0 || dup3(fd, files[stream], O_CLOEXEC) < 0)
        return error_set(err, -errno, "Could not open %s file '%s': %s",
                         stream == STEP_STDIN    ? "stdin"
                         : stream == STEP_STDOUT ? "stdout"
                                                 : "stderr",
                         path, strerror(errno));
    return 0;
}

int
krun_files_open(const struct krun_settings *s, int64_t step_id, const int files[STEP_STREAMS],
                struct error *err)
{
    char id[24];
    int r = 0;

    snprintf(id, sizeof(id), "%" PRId64, step_id);
    if (is_own_file(s->input))
        r = open_file(s, s->input, id, STEP_STDIN, files, err);
    if (r == 0 && is_own_file(s->output)) {
        r = open_file(s, s->output, id, STEP_STDOUT, files, err);
        if (r == 0 && s->error == NULL
            && dup3(files[STEP_STDOUT], files[STEP_STDERR], O_CLOEXEC) < 0)
            r = error_set(err, -errno, "the descriptor of stderr: %s", strerror(errno));
    }
    if (r == 0 && is_own_file(s->error))
        r = open_file(s, s->error, id, STEP_STDERR, files, err);
    return r;
}

/* A terminal that shows nothing for a while (Ctrl-S) does not keep krun from its signals. */
static void
reopen(int *fd)
{
    const int own = krun_terminal_reopen(*fd);

    if (own < 0)
        return;
    close(*fd);
    *fd = own;
}

int
krun_files_dup(const struct krun_settings *s, int files[STEP_STREAMS], struct error *err)
{
    for (int i = 0; i < STEP_STREAMS; i++) {
        files[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
        if (files[i] < 0)
            return error_set(err, -errno, "descriptor %d: %s", i, strerror(errno));
        if (i != STEP_STDIN && s->request.has_terminal)
            reopen(&files[i]);
    }
    return 0;
}
