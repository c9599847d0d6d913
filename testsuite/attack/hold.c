/* SPDX-License-Identifier: Apache-2.0 */
/* hold - what a user can do to keep a process from ending
 *
 *   hold files DIRECTORY UID GID
 *       mounts a file system at the directory, as fusermount does for that
 *       user, and answers no question about the files in it: whoever opens one
 *       cannot be killed any more. Needs root.
 *   hold all DIRECTORY UID GID
 *       the same, for all users, root as well (user_allow_other in fuse.conf).
 *   hold output DIRECTORY UID GID
 *       the same, for all users; every name is that of one file, which can be
 *       opened and written, but no question about its size is answered. Only
 *       "closed" is a directory, which denies access to what is in it.
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
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
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

/* ---- An output that can be written but not looked at ---- */

#define FILE_NODE   2
#define CLOSED_NODE 3

struct answer {
    struct fuse_out_header header;
    union {
        struct fuse_entry_out entry;
        struct fuse_attr_out attr;
        struct fuse_open_out open;
        struct fuse_write_out write;
    } u;
};

static void
fill(struct fuse_attr *a, uint64_t node)
{
    a->ino = node;
    a->mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0777;
    a->nlink = 1;
}

/* The length of the answer to a question about the file; 0: no answer. */
static size_t
answer_about_file(const struct fuse_in_header *in, struct answer *out)
{
    const struct fuse_write_in *wanted = (const void *)(in + 1);

    switch (in->opcode) {
    case FUSE_LOOKUP:
        if (in->nodeid == CLOSED_NODE) {
            out->header.error = -EACCES;
            return 0;
        }
        out->u.entry.nodeid =
            strcmp((const char *)(in + 1), "closed") == 0 ? CLOSED_NODE : FILE_NODE;
        out->u.entry.entry_valid = 3600;
        fill(&out->u.entry.attr, out->u.entry.nodeid);
        return sizeof(out->u.entry);
    case FUSE_SETATTR:
    case FUSE_GETATTR:
        if (in->nodeid != 1 && in->opcode == FUSE_GETATTR)
            return 0;
        fill(&out->u.attr.attr, in->nodeid);
        return sizeof(out->u.attr);
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        return sizeof(out->u.open);
    case FUSE_WRITE:
        out->u.write.size = wanted->size;
        return sizeof(out->u.write);
    default:
        out->header.error = -ENOSYS;
        return 0;
    }
}

static void
serve_output(int fd, const struct fuse_in_header *in)
{
    struct answer out = {0};
    size_t length = answer_about_file(in, &out);

    if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET
        || in->opcode == FUSE_INTERRUPT)
        return;
    if (length == 0 && out.header.error == 0) {
        say("asked");
        return;
    }
    out.header.unique = in->unique;
    out.header.len = (uint32_t)(sizeof(out.header) + length);
    if (write(fd, &out, out.header.len) < 0)
        fail("an answer");
}

static int
hold_files(const char *directory, const char *uid, const char *gid, bool is_for_all, bool is_output)
{
    static char question[FUSE_MIN_READ_BUFFER * 16];
    char options[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    int r;

    if (fd < 0)
        return fail("/dev/fuse");
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%s,group_id=%s%s", fd, uid,
             gid, is_for_all ? ",allow_other" : "");
    if (mount("hold", directory, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
        return fail("mount");
    r = begin_session(fd, question, sizeof(question));
    if (r != EXIT_SUCCESS)
        return r;
    say("holding");
    for (;;) {
        ssize_t n = read(fd, question, sizeof(question));

        if (n < 0 && errno != EINTR && errno != ENOENT)
            return EXIT_SUCCESS;
        if (n > 0 && is_output)
            serve_output(fd, (const void *)question);
        else if (n > 0)
            say("asked");
    }
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "files") == 0)
        return hold_files(argv[2], argv[3], argv[4], false, false);
    if (argc == 5 && strcmp(argv[1], "output") == 0)
        return hold_files(argv[2], argv[3], argv[4], true, true);
    if (argc == 5 && strcmp(argv[1], "all") == 0)
        return hold_files(argv[2], argv[3], argv[4], true, false);
    if (argc == 3 && strcmp(argv[1], "process") == 0)
        return hold_process((pid_t)atoi(argv[2]), 0);
    if (argc == 3 && strcmp(argv[1], "exit") == 0)
        return hold_process((pid_t)atoi(argv[2]), PTRACE_O_TRACEEXIT);
    fprintf(stderr,
            "usage: hold files|all|output DIRECTORY UID GID | hold process PID | hold exit PID\n");
    return EXIT_FAILURE;
}
