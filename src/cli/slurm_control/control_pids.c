/* SPDX-License-Identifier: Apache-2.0 */
/* control_pids.c - listpids: the processes of jobs on this machine
 *
 * They are found by the variable that every job has, in the environments that the user may read.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/scontrol.h"
#include "lib/base/arena.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MOST_OF_ENVIRONMENT (1u << 20)
#define MOST_DIGITS         18u

/* Any program may have any words in its environment. */
static bool
is_number(const char *text)
{
    const size_t length = strspn(text, "0123456789");

    return length > 0 && length <= MOST_DIGITS && text[length] == '\0';
}

/* The job's number, or a task's "17_4"; NULL: the process is of no job. */
static const char *
find_job(struct scontrol *c, const char *pid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *id = NULL, *task = NULL;

    if (file_read(arena_printf(c->client->arena, "/proc/%s/environ", pid), MOST_OF_ENVIRONMENT,
                  &text, NULL)
        < 0)
        return NULL;
    for (size_t at = 0; at < text.length; at += strlen(text.text + at) + 1) {
        if (strncmp(text.text + at, "KILN_JOB_ID=", 12) == 0)
            id = text.text + at + 12;
        if (strncmp(text.text + at, "KILN_ARRAY_TASK_ID=", 19) == 0)
            task = text.text + at + 19;
    }
    if (id == NULL || !is_number(id) || (task != NULL && !is_number(task)))
        return NULL;
    return task != NULL ? arena_printf(c->client->arena, "%s_%s", id, task)
                        : arena_strdup(c->client->arena, id);
}

static bool
is_wanted(const char *wanted, const char *job)
{
    const size_t length = wanted != NULL ? strlen(wanted) : 0;

    return wanted == NULL || strcmp(wanted, job) == 0
           || (strncmp(wanted, job, length) == 0 && job[length] == '_');
}

int
control_list_pids(struct scontrol *c, int n_words, char **words)
{
    const char *wanted =
        n_words > 0 ? arena_strndup(c->client->arena, words[0], strcspn(words[0], ".")) : NULL;
    DIR *folder;
    struct dirent *entry;
    size_t n = 0;

    if (wanted != NULL && !job_words_is_job(wanted)) {
        fprintf(stderr, "Invalid job_id %s\n", words[0]);
        return 1;
    }
    folder = opendir("/proc");
    if (folder == NULL)
        return slurm_client_fail(c->client, "/proc", -errno, NULL);
    puts("PID      JOBID    STEPID   LOCALID GLOBALID");
    while ((entry = readdir(folder)) != NULL) {
        const char *job =
            isdigit((unsigned char)entry->d_name[0]) ? find_job(c, entry->d_name) : NULL;

        if (job == NULL || !is_wanted(wanted, job))
            continue;
        printf("%-8s %-8s %-8s %-7s %-8s\n", entry->d_name, job, "batch", "-", "-");
        n++;
    }
    closedir(folder);
    if (n > 0 || wanted == NULL)
        return 0;
    fflush(stdout);
    fprintf(stderr, "There are no steps for job %s on node (null).\n", wanted);
    return 1;
}
