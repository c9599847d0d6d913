/* SPDX-License-Identifier: Apache-2.0 */
/* hold - what a user can do to keep a process from ending
 *
 *   hold files DIRECTORY UID GID
 *       mounts a file system at the directory, as fusermount does for that
 *       user, and answers no question about the files in it: whoever opens one
 *       cannot be killed any more. Needs root.
 *   hold process PID
 *       traces the process without stopping it: when it is dead, it stays a
 *       zombie that its parent cannot reap.
 *   hold exit PID
 *       also stops the process at its exit, before it is dead.
 *
 * Prints "holding", and holds on until it is killed; "asked" with each question
 * about a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <unistd.h>

static int
fail(const char *what)
{
    fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
    return EXIT_FAILURE;
}

static void
say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static int
hold_process(pid_t pid, long options)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, options) < 0)
        return fail("PTRACE_SEIZE");
    say("holding");
    for (;;)
        pause();
}

/* Only the first question, about the protocol, is answered. */
static int
begin_session(int fd, char *question, size_t size)
{
    struct {
        struct fuse_out_header header;
        struct fuse_init_out init;
    } answer = {0};
    const struct fuse_in_header *asked = (const void *)question;

    if (read(fd, question, size) < (ssize_t)sizeof(*asked))
        return fail("the first question");
    answer.header.len = sizeof(answer);
    answer.header.unique = asked->unique;
    answer.init.major = FUSE_KERNEL_VERSION;
    answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
    answer.init.max_write = 4096;
    return write(fd, &answer, sizeof(answer)) < 0 ? fail("the first answer") : EXIT_SUCCESS;
}

static int
hold_files(const char *directory, const char *uid, const char *gid)
{
    static char question[FUSE_MIN_READ_BUFFER * 16];
    char options[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    int r;

    if (fd < 0)
        return fail("/dev/fuse");
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%s,group_id=%s", fd, uid, gid);
    if (mount("hold", directory, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
        return fail("mount");
    r = begin_session(fd, question, sizeof(question));
    if (r != EXIT_SUCCESS)
        return r;
    say("holding");
    while (read(fd, question, sizeof(question)) > 0 || errno == EINTR || errno == ENOENT)
        say("asked");
    return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "files") == 0)
        return hold_files(argv[2], argv[3], argv[4]);
    if (argc == 3 && strcmp(argv[1], "process") == 0)
        return hold_process((pid_t)atoi(argv[2]), 0);
    if (argc == 3 && strcmp(argv[1], "exit") == 0)
        return hold_process((pid_t)atoi(argv[2]), PTRACE_O_TRACEEXIT);
    fprintf(stderr, "usage: hold files DIRECTORY UID GID | hold process PID | hold exit PID\n");
    return EXIT_FAILURE;
}
