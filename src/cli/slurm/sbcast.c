/* SPDX-License-Identifier: Apache-2.0 */
/* sbcast - copies a file to the node of the job that it is called in
 *
 * A job of several nodes is refused: its script runs on the first of them, and nothing can
 * be started on the others yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"

#define PIECE (1u << 20)

struct sbcast_options {
    struct slurm_common_options common;
    const char *text; /* of options that mean nothing on one node */
    bool force, preserve, flag;
};

#define PLACE(member) .offset = offsetof(struct sbcast_options, member)
#define FLAG(member)  .type = OPTION_FLAG, PLACE(member)
#define TEXT(what)    .argument = (what), .type = OPTION_TEXT, PLACE(text)

static const struct option_spec rows[] = {
    {.name = "fanout", .letter = 'F', .help = "no effect", TEXT("N")},
    {.name = "force", .letter = 'f', .help = "replace the file if it exists", FLAG(force)},
    {.name = "jobid",
     .letter = 'j',
     .help = "no effect: the job is the one it runs in",
     TEXT("JOB")},
    {.name = "preserve",
     .letter = 'p',
     .help = "keep the times and the mode of the file",
     FLAG(preserve)},
    {.name = "size", .letter = 's', .help = "no effect", TEXT("SIZE")},
    {.name = "timeout", .letter = 't', .help = "no effect", TEXT("SECONDS")},
    {.name = "verbose", .letter = 'v', .help = "no effect", FLAG(flag)},
    SLURM_COMMON_OPTIONS,
};

static const struct option_table table = {
    .name = "sbcast",
    .usage = "[OPTION]... SOURCE DEST",
    .summary = "Copy a file to the node of the job.",
    OPTION_ROWS(rows),
};

/* The bytes, and then the name: nobody sees a half of the file. */
static int
copy(int from, int to, struct error *err)
{
    CLEANUP_STRBUF struct strbuf piece = STRBUF_INIT;
    ssize_t n;

    while ((n = read(from, strbuf_extend(&piece, PIECE), PIECE)) > 0) {
        int r = fd_write_all(to, piece.text, (size_t)n);

        if (r < 0)
            return error_set(err, r, "%s", strerror(-r));
        strbuf_truncate(&piece, 0);
    }
    return n < 0 ? error_set(err, -errno, "%s", strerror(errno)) : 0;
}

static int
copy_file(struct slurm_client *client, const struct sbcast_options *o, const char *source,
          const char *dest)
{
    CLEANUP_FD int from = open(source, O_RDONLY | O_CLOEXEC);
    CLEANUP_FD int to = -1;
    const char *made = arena_printf(client->arena, "%s.sbcast-%ld", dest, (long)getpid());
    struct error err = {0};
    struct stat st;
    int r = 0;

    if (from < 0 || fstat(from, &st) < 0) {
        slurm_client_error(client, "Can't open `%s`: %s", source, strerror(errno));
        return 1;
    }
    if (!S_ISREG(st.st_mode)) {
        slurm_client_error(client, "File `%s` is not a regular file", source);
        return 1;
    }
    if (!o->force && access(dest, F_OK) == 0) {
        slurm_client_error(client, "REQUEST_FILE_BCAST(localhost): File exists");
        return 1;
    }
    to = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        r = error_set(&err, -errno, "%s", strerror(errno));
    if (r == 0)
        r = copy(from, to, &err);
    if (r == 0 && fchmod(to, o->preserve ? st.st_mode & 07777 : st.st_mode & 0777) < 0)
        r = error_set(&err, -errno, "%s", strerror(errno));
    if (r == 0 && o->preserve)
        (void)futimens(to, (struct timespec[]){st.st_atim, st.st_mtim});
    if (r == 0 && rename(made, dest) < 0)
        r = error_set(&err, -errno, "%s", strerror(errno));
    if (r == 0)
        return 0;
    unlink(made);
    slurm_client_error(client, "REQUEST_FILE_BCAST(localhost): %s: %s", dest, err.text);
    return 1;
}

static int
sbcast_run(struct slurm_client *client, int argc, char **argv)
{
    struct sbcast_options o = {0};
    const int at = slurm_client_options(client, &table, argc, argv, &o);
    const char *job = getenv("SLURM_JOB_ID");
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    const char *dest;

    if (argc - at != 2) {
        slurm_client_error(client, "Need two file names, have %d names", argc - at);
        return 1;
    }
    if (job == NULL) {
        slurm_client_error(client,
                           "Need a job id to run this command.  Run from within a Slurm job");
        return 1;
    }
    if (nodes != NULL && atoi(nodes) > 1) {
        slurm_client_error(
            client,
            "Kiln copies to one node, and job %s has %s: use a folder that all nodes see, "
            "or 'ksub --per-node' with a script that copies",
            job, nodes);
        return 1;
    }
    dest = argv[at + 1];
    if (dest[0] != '\0' && dest[strlen(dest) - 1] == '/')
        dest = arena_printf(client->arena, "%s%s", dest,
                            basename(arena_strdup(client->arena, argv[at])));
    return copy_file(client, &o, argv[at], dest);
}

const struct slurm_command sbcast_slurm_command = {
    .name = "sbcast",
    .summary = "copy a file to the node of a job",
    .run = sbcast_run,
};
