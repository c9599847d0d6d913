/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/path_hints.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ksub/submission.h"
#include "cli/print/sanitize_text.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define MOST_MS 1000 /* between two answers of a file system */

#define ADVICE "; the job fails at its start if that is so on its node"

static void
add_line(const char *option, const char *path, const char *what, const char *where,
         struct strbuf *out)
{
    CLEANUP_FREE char *shown = sanitize_text_dup(path);
    CLEANUP_FREE char *place = where != NULL ? sanitize_text_dup(where) : NULL;

    strbuf_printf(out, "%s %s: %s", option, shown, what);
    if (place != NULL)
        strbuf_printf(out, " '%s'", place);
    strbuf_add_text(out, " on this machine" ADVICE "\n");
}

/* Whether the directory is there and can be used so; other mistakes than these are no hint. */
static bool
is_usable(const char *directory, int mode, const char **ret_what)
{
    struct stat st;

    *ret_what = NULL;
    if (stat(directory, &st) < 0)
        *ret_what = errno == ENOENT || errno == ENOTDIR ? "there is no directory"
                    : errno == EACCES                   ? "you may not use"
                                                        : NULL;
    else if (!S_ISDIR(st.st_mode))
        *ret_what = "there is no directory";
    else if (access(directory, mode) < 0 && (errno == EACCES || errno == EROFS))
        *ret_what = (mode & W_OK) != 0 ? "you may not write in" : "you may not use";
    return *ret_what == NULL;
}

/* The part of the path that no pattern changes has the whole directory of the file. */
static bool
find_directory(const char *path, char directory[static PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *pattern = strchr(path, '%');
    int n;

    if (slash == NULL || (pattern != NULL && pattern < slash))
        return false;
    n = snprintf(directory, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return n > 0 && n < PATH_MAX;
}

/* A file below a directory: of -o, -e, -i. `base` is the job's directory. */
static void
add_file(const char *option, const char *path, const char *base, int mode, struct strbuf *out)
{
    char whole[PATH_MAX], directory[PATH_MAX];
    const char *what;
    struct stat st;
    int n;

    if (path == NULL || path[0] == '\0')
        return;
    n = path[0] == '/' ? snprintf(whole, sizeof(whole), "%s", path)
                       : snprintf(whole, sizeof(whole), "%s/%s", base, path);
    if (n < 0 || n >= (int)sizeof(whole) || !find_directory(whole, directory))
        return;
    if (strchr(path, '%') == NULL && stat(whole, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            add_line(option, path, "it is a directory", NULL, out);
        else if (access(whole, mode) < 0 && (errno == EACCES || errno == EROFS))
            add_line(option, path, mode == R_OK ? "you may not read it" : "you may not write it",
                     NULL, out);
        return;
    }
    if (!is_usable(directory, mode == R_OK ? X_OK : W_OK | X_OK, &what))
        add_line(option, path, what, directory, out);
    else if (mode == R_OK && strchr(path, '%') == NULL)
        add_line(option, path, "there is no such file", NULL, out);
}

static void
add_all(const struct submission *s, struct strbuf *out)
{
    const char *base = s->directory != NULL ? s->directory : ".";
    const char *what;
    const bool has_base = is_usable(base, X_OK, &what);

    if (!has_base)
        add_line("--chdir", base, what, base, out);
    else if (s->output == NULL && !is_usable(base, W_OK | X_OK, &what))
        add_line("--output", "was not given", what, base, out);
    if (has_base || (s->input != NULL && s->input[0] == '/'))
        add_file("--input", s->input, base, R_OK, out);
    if (has_base || (s->output != NULL && s->output[0] == '/'))
        add_file("--output", s->output, base, W_OK, out);
    if (has_base || (s->error != NULL && s->error[0] == '/'))
        add_file("--error", s->error, base, W_OK, out);
}

/* It keeps no other file, as the output of ksub, whose reader waits for everybody who has it. */
static void NORETURN
run_child(const struct submission *s, int to)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (dup2(to, STDIN_FILENO) < 0)
        _exit(1);
    closefrom(STDIN_FILENO + 1);
    add_all(s, &text);
    _exit(write(STDIN_FILENO, text.text, text.length) == (ssize_t)text.length ? 0 : 1);
}

/* Returns false when the child did not come to its end in time. */
static bool
read_hints(int from, struct strbuf *out)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    char buffer[4096];
    ssize_t n;

    do {
        if (poll(&ready, 1, MOST_MS) <= 0)
            return false;
        n = read(from, buffer, sizeof(buffer));
        if (n > 0)
            strbuf_add(out, buffer, (size_t)n);
    } while (n > 0);
    return n == 0;
}

/* A child asks, because a file system that does not answer holds everybody who asks it. The
 * submission goes on without hints then, as it would without this machine's file systems; the
 * child cannot be waited for, for even SIGKILL may not end it.
 */
void
path_hints_add(const struct submission *s, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    child = fork();
    if (child == 0)
        run_child(s, ends[1]);
    close(ends[1]);
    if (child > 0 && read_hints(ends[0], &text)) {
        strbuf_add(out, text.text, text.length);
        (void)waitpid(child, NULL, 0);
    } else if (child > 0) {
        (void)kill(child, SIGKILL);
    }
    close(ends[0]);
}
