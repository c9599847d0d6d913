/* SPDX-License-Identifier: Apache-2.0 */
/* control_wait.c - keywords of scontrol that look at one job: wait_job, write batch_script */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/kctl/client/job_content.h"
#include "cli/kctl/client/wait_condition.h"
#include "cli/kctl/input/resource.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/scontrol.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"

/* ---- wait_job ---- */

/* Finds the Job of an id, or of a task: its array. */
static int
find_job(struct scontrol *c, const char *word, struct target_object *ret_job, struct error *err)
{
    char *id = arena_strndup(c->client->arena, word, strcspn(word, "_"));

    return resource_parse_one(&c->client->kctl, &job_kind, 1, &id, c->client->arena, ret_job, err);
}

/* The state of the job that is waited for. */
struct readiness {
    bool has_ended;
};

static bool
has_started(const struct json *job, void *context)
{
    struct readiness *ready = context;
    const char *state = json_path_text(job, "status.state");

    ready->has_ended = job == NULL || json_path_text(job, "status.completionTime") != NULL
                       || (state != NULL && strcmp(state, "Cancelled") == 0)
                       || (state != NULL && strcmp(state, "Failed") == 0);
    return ready->has_ended
           || (state != NULL && (strcmp(state, "Running") == 0 || strcmp(state, "Frozen") == 0));
}

int
control_wait_job(struct scontrol *c, int n_words, char **words)
{
    struct readiness ready = {0};
    struct target_object job;
    struct error err = {0};
    int r;

    if (n_words == 0) {
        fputs("too few arguments for keyword:wait_job\n", stderr);
        return 1;
    }
    if (!job_words_is_job(words[0])) {
        fprintf(stderr, "Invalid job_id %s\n", words[0]);
        return 1;
    }
    r = find_job(c, words[0], &job, &err);
    if (r == 0)
        r = wait_for_condition(&c->client->kctl, &job, 0, has_started, &ready, &err);
    if (r == -ENOENT || (r == 0 && ready.has_ended)) {
        fprintf(stderr, "scontrol: Problem running job %s\n", words[0]);
        return 1;
    }
    if (r < 0)
        return slurm_client_fail(c->client, NULL, r, &err);
    if (!c->is_quiet)
        fprintf(stderr, "scontrol: Nodes are ready for job %s\n", words[0]);
    return 0;
}

/* ---- write batch_script ---- */

static int
write_script(struct scontrol *c, const char *word, const char *path)
{
    CLEANUP_SYNC_CALL struct sync_call content = {0};
    CLEANUP_FD int fd = -1;
    struct target_object job;
    struct error err = {0};
    int r = find_job(c, word, &job, &err);

    if (r == 0)
        r = job_content_fetch(&c->client->kctl, &job, "script", &content, &err);
    if (r < 0) {
        fprintf(stderr, "job script retrieval failed: %s\n",
                r == -ENOENT ? "Invalid job id specified" : slurm_client_reason(r, &err));
        return 1;
    }
    if (strcmp(path, "-") == 0) {
        fwrite(content.text, 1, content.length, stdout);
        if (content.length == 0 || content.text[content.length - 1] != '\n')
            putchar('\n');
        return 0;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        fprintf(stderr, "failed to open file `%s`: %s\n", path, strerror(errno));
        return 1;
    }
    r = fd_write_all(fd, content.text, content.length);
    if (r < 0)
        return slurm_client_fail(c->client, path, r, NULL);
    printf("batch script for job %s written to %s\n", word, path);
    return 0;
}

int
control_write(struct scontrol *c, int n_words, char **words)
{
    if (n_words < 1 || !control_is(words[0], "batch_script", 5)) {
        fprintf(stderr, "invalid write argument:%s\n", n_words < 1 ? "" : words[0]);
        return 1;
    }
    if (n_words < 2) {
        fputs("too few arguments for keyword:write batch_script\n", stderr);
        return 1;
    }
    return write_script(c, words[1],
                        n_words > 2 ? words[2]
                                    : arena_printf(c->client->arena, "slurm-%s.sh", words[1]));
}
