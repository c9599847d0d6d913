/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal is the user's, so it must be set back on every way out, also by a signal that
 * ends krun and while krun is stopped. That has to work in a signal handler, so it is system
 * calls on a state that is kept for the process.
 */
#include "cli/krun/krun_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

static struct termios as_before, raw;
static volatile sig_atomic_t is_raw;

bool
krun_terminal_size(uint16_t *ret_rows, uint16_t *ret_columns)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct winsize size;

        if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0) {
            *ret_rows = size.ws_row;
            *ret_columns = size.ws_col;
            return true;
        }
    }
    return false;
}

/* Only system calls: a signal may call it. In the background, the terminal is somebody
 * else's, who has set it as they want it.
 */
static void
set_back(void)
{
    if (is_raw && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &as_before);
    is_raw = 0;
}

void
krun_terminal_leave(void)
{
    set_back();
}

/* The signal is sent again when this returns, and ends krun. */
static void
on_deadly_signal(int signal_number)
{
    set_back();
    (void)raise(signal_number);
}

/* Those that krun watches are blocked, and end it in order. */
static void
catch_deadly_signals(void)
{
    static const int keeps_running[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH, SIGSTOP,
                                        SIGKILL, SIGTSTP, SIGTTIN, SIGTTOU};
    static bool is_done;

    for (int signo = 1; !is_done && signo <= SIGRTMAX; signo++) {
        struct sigaction action;
        bool is_deadly = sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_DFL;

        for (size_t i = 0; i < ARRAY_SIZE(keeps_running); i++)
            is_deadly = is_deadly && signo != keeps_running[i];
        action = (struct sigaction){.sa_handler = on_deadly_signal, .sa_flags = (int)SA_RESETHAND};
        if (is_deadly)
            (void)sigaction(signo, &action, NULL);
    }
    if (!is_done)
        (void)atexit(set_back);
    is_done = true;
}

int
krun_terminal_enter(struct error *err)
{
    if (!isatty(STDIN_FILENO))
        return 0;
    if (!is_raw && tcgetattr(STDIN_FILENO, &as_before) < 0)
        return error_set(err, -errno, "the terminal: %s", strerror(errno));
    raw = as_before;
    cfmakeraw(&raw);
    catch_deadly_signals();
    /* Before, because a signal may come between the two. */
    is_raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0) {
        is_raw = 0;
        return error_set(err, -errno, "the terminal: %s", strerror(errno));
    }
    return 0;
}

void
krun_terminal_stop(void)
{
    krun_terminal_leave();
    (void)kill(getpid(), SIGSTOP);
}

void
krun_terminal_begin_words(void)
{
    struct termios words = raw;

    words.c_oflag |= OPOST;
    if (is_raw && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &words);
}

void
krun_terminal_end_words(void)
{
    if (is_raw && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

int
krun_terminal_reopen(int fd)
{
    CLEANUP_FREE char *path = xasprintf("/proc/self/fd/%d", fd);

    return isatty(fd) ? open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
}
