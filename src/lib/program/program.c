/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/program/option.h"

#define LINE_MOST 1000

void
program_open_descriptors(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Prints "kctl: drain: TEXT" for the name "kctl drain". */
static void
print_complaint(const char *name, const char *text)
{
    for (; *name != '\0'; name++)
        if (*name == ' ')
            fputs(": ", stderr);
        else
            fputc(*name, stderr);
    fprintf(stderr, ": %s", text);
}

/* A character of UTF-8 is not cut. */
char *
program_join_words(int argc, char *const *argv)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    size_t length = LINE_MOST;

    for (int i = 0; i < argc && line.length <= LINE_MOST; i++)
        strbuf_printf(&line, "%s%.*s", i > 0 ? " " : "", LINE_MOST + 1, argv[i]);
    if (line.length <= LINE_MOST)
        return xstrdup(line.text != NULL ? line.text : "");
    while (length > 0 && ((unsigned char)line.text[length] & 0xc0) == 0x80)
        length--;
    strbuf_truncate(&line, length);
    strbuf_add_text(&line, "...");
    return xstrdup(line.text);
}

void
program_refuse(const struct option_table *table, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_complaint(table->name, text);
    fprintf(stderr, "; see '%s --help'\n", table->name);
    exit(EXIT_STATUS_USAGE);
}

static void __attribute__((noreturn)) print_and_exit(const struct option_table *table, int answer)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (answer == OPTION_HELP)
        option_format_help(table, &text);
    else
        strbuf_printf(&text, "%s %s\n", table->name, version_text());
    fwrite(text.text, 1, text.length, stdout);
    exit(program_end(table->name, 0, NULL));
}

int
program_begin(const struct option_table *table, int argc, char **argv, void *target)
{
    struct error err = {0};
    int operands = argc;
    int r;

    program_open_descriptors();
    r = option_parse(table, argc, argv, target, &operands, &err);
    if (r < 0)
        program_refuse(table, "%s", err.text);
    if (r > 0)
        print_and_exit(table, r);
    return operands;
}

/* Whether the reader of standard output has gone. */
static bool
output_has_no_reader(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};

    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/* Ends as programs end that do not ignore SIGPIPE (a loop ignores it because of
 * its sockets): `kctl jobs | head` prints no error.
 */
static void
die_of_broken_pipe(void)
{
    sigset_t pipe_signal;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &pipe_signal, NULL);
    raise(SIGPIPE);
}

enum exit_status
program_end(const char *name, int r, const struct error *err)
{
    if (r == -EPIPE && output_has_no_reader())
        die_of_broken_pipe();
    if (r < 0) {
        bool has_words = err != NULL && err->code != 0;

        fflush(stdout);
        print_complaint(name, has_words ? err->text : strerror(-r));
        fputc('\n', stderr);
        return exit_status_of(r);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (output_has_no_reader())
            die_of_broken_pipe();
        print_complaint(name, "writing to standard output: ");
        fprintf(stderr, "%s\n", strerror(errno));
        return EXIT_STATUS_FAILED;
    }
    return EXIT_STATUS_OK;
}
