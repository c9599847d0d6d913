/* SPDX-License-Identifier: Apache-2.0 */
/* step_terminal.c - the pseudo terminal of task 0
 *
 * Its master is the task's output and, as a second descriptor, its input. Echo
 * and the signals for Ctrl-C are the kernel's business, and set by the programs in the
 * terminal: krun passes on what is typed.
 */
#include "step/step_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "step/step_input.h"
#include "step/step_output.h"

/* How long the programs have to save their work after a hang-up; a krun that is
 * gone takes its step with it within 2 s.
 */
#define HANG_UP_MS  500
#define LOOK_MS     10
#define AGAIN_MS    200 /* what was typed and not taken */
/* between two keys that end the input */
#define TYPE_END_MS 1000

struct step_terminal {
    struct step_input *input;
    struct step_output *output;
    bool is_open;
    unsigned task;
    bool has_typed_end, has_ended_line;
    int64_t type_end_ms; /* the next time */
};

struct step_terminal *
step_terminal_new(struct step_input *input, struct step_output *output)
{
    struct step_terminal *t = xnew(struct step_terminal);

    t->input = input;
    t->output = output;
    return t;
}

static int
take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

static void
set_size(int fd, uint16_t rows, uint16_t columns)
{
    (void)ioctl(fd, TIOCSWINSZ, &(struct winsize){.ws_row = rows, .ws_col = columns});
}

/* Erasing a character erases all its bytes. */
static void
set_utf8(int fd)
{
    struct termios t;

    if (tcgetattr(fd, &t) < 0)
        return;
    t.c_iflag |= IUTF8;
    (void)tcsetattr(fd, TCSANOW, &t);
}

int
step_terminal_open(struct step_terminal *t, unsigned task, uint16_t rows, uint16_t columns,
                   int fds[3])
{
    CLEANUP_FD int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CLEANUP_FD int slave = -1, input = -1, output = -1, error = -1;

    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return -errno;
    /* By the master: in the job's mount namespace, the name may be another one's. */
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || (input = fcntl(master, F_DUPFD_CLOEXEC, 3)) < 0
        || (output = fcntl(slave, F_DUPFD_CLOEXEC, 3)) < 0
        || (error = fcntl(slave, F_DUPFD_CLOEXEC, 3)) < 0)
        return -errno;
    set_utf8(slave);
    set_size(master, rows, columns);
    t->is_open = true;
    t->task = task;
    step_input_add_terminal(t->input, task, take(&input));
    step_output_add_terminal(t->output, task, take(&master));
    fds[0] = take(&slave);
    fds[1] = take(&output);
    fds[2] = take(&error);
    return 0;
}

/* -1: there is none, or no longer. */
static int
get_master(const struct step_terminal *t)
{
    return t->is_open ? step_output_terminal(t->output, t->task) : -1;
}

/* krun's input was a file, or a pipe: the key that ends input is typed. After the beginning
 * of a line, once more; where a program takes each key by itself, it wants the end of the
 * line first. A program that changes the terminal at its start may lose the key, and an
 * end of input is one for all who read later: so it is typed again and again.
 */
static void
type_end(struct step_terminal *t)
{
    const int fd = step_input_fd(t->input, t->task);
    const char last = step_input_last(t->input);
    const bool is_in_line = last != '\n' && last != '\r';
    struct termios attributes;
    bool takes_lines;
    char keys[2];
    size_t n = 1;

    if (tcgetattr(fd, &attributes) < 0)
        return;
    takes_lines = attributes.c_lflag & ICANON;
    keys[0] = keys[1] = (char)attributes.c_cc[VEOF];
    if (is_in_line && !takes_lines && !t->has_ended_line) {
        keys[0] = '\r';
        n = 2;
    } else if (is_in_line && takes_lines && !t->has_typed_end) {
        n = 2;
    }
    if (write(fd, keys, n) <= 0)
        return;
    t->has_typed_end = true;
    t->has_ended_line = t->has_ended_line || !takes_lines;
}

int
step_terminal_turn(struct step_terminal *t, int64_t now_ms)
{
    if (get_master(t) < 0 || step_input_fd(t->input, t->task) < 0)
        return -1;
    if (step_input_write(t->input, t->task))
        return AGAIN_MS;
    if (!step_input_is_over(t->input))
        return -1;
    if (now_ms >= t->type_end_ms) {
        type_end(t);
        t->type_end_ms = now_ms + TYPE_END_MS;
    }
    return (int)(t->type_end_ms - now_ms);
}

void
step_terminal_resize(struct step_terminal *t, uint16_t rows, uint16_t columns)
{
    if (get_master(t) >= 0)
        set_size(get_master(t), rows, columns);
}

void
step_terminal_hang_up(struct step_terminal *t, bool (*reap)(void *context), void *context)
{
    if (get_master(t) < 0)
        return;
    step_input_drop(t->input, t->task);
    step_output_close_terminal(t->output, t->task);
    for (int i = 0; i < HANG_UP_MS / LOOK_MS && reap(context); i++)
        usleep(LOOK_MS * 1000);
}
