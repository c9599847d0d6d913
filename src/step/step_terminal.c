/* SPDX-License-Identifier: Apache-2.0 */
/* step_terminal.c - the pseudo terminal of task 0
 *
 * Its master is the task's output and, as a second descriptor, its input. Echo
 * and the signals for Ctrl-C are the kernel's business, and set by the programs in the
 * terminal: krun passes on what is typed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "step/step_state.h"

/* How long the programs have to save their work after a hang-up; a krun that is
 * gone takes its step with it within 2 s.
 */
#define HANG_UP_MS  500
#define LOOK_MS     10
#define AGAIN_MS    200 /* what was typed and not taken */
/* between two keys that end the input */
#define TYPE_END_MS 1000

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
step_terminal_open(struct step *s, struct step_task *t, int fds[3])
{
    const struct step_request *q = &s->request;
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
    set_size(master, (uint16_t)q->terminal_rows, (uint16_t)q->terminal_columns);
    t->has_terminal = true;
    step_input_add(s, t, take(&input));
    step_output_add(s, t, STEP_STDOUT, take(&master));
    fds[0] = take(&slave);
    fds[1] = take(&output);
    fds[2] = take(&error);
    return 0;
}

static struct step_task *
find_terminal(struct step *s)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].has_terminal && s->tasks[i].outputs[STEP_STDOUT].fd >= 0)
            return &s->tasks[i];
    return NULL;
}

/* krun's input was a file, or a pipe: the key that ends input is typed. After the beginning
 * of a line, once more; where a program takes each key by itself, it wants the end of the
 * line first. A program that changes the terminal at its start may lose the key, and an
 * end of input is one for all who read later: so it is typed again and again.
 */
static void
type_end(const struct step *s, struct step_task *t)
{
    const struct step_input *in = &s->input;
    const char last = in->end > 0 ? in->ring[(in->end - 1) % STEP_WINDOW_BYTES] : '\n';
    const bool is_in_line = last != '\n' && last != '\r';
    struct termios attributes;
    bool takes_lines;
    char keys[2];
    size_t n = 1;

    if (tcgetattr(t->input_fd, &attributes) < 0)
        return;
    takes_lines = attributes.c_lflag & ICANON;
    keys[0] = keys[1] = (char)attributes.c_cc[VEOF];
    if (is_in_line && !takes_lines && !t->has_ended_line) {
        keys[0] = '\r';
        n = 2;
    } else if (is_in_line && takes_lines && !t->has_typed_end) {
        n = 2;
    }
    if (write(t->input_fd, keys, n) <= 0)
        return;
    t->has_typed_end = true;
    t->has_ended_line = t->has_ended_line || !takes_lines;
}

int
step_terminal_turn(struct step *s, int64_t now_ms)
{
    struct step_task *t = find_terminal(s);

    if (t == NULL || t->input_fd < 0)
        return -1;
    if (t->read < s->input.end) {
        step_input_write(s, t);
        return AGAIN_MS;
    }
    if (!s->input.is_over)
        return -1;
    if (now_ms >= t->type_end_ms) {
        type_end(s, t);
        t->type_end_ms = now_ms + TYPE_END_MS;
    }
    return (int)(t->type_end_ms - now_ms);
}

void
step_terminal_resize(struct step *s, uint16_t rows, uint16_t columns)
{
    struct step_task *t = find_terminal(s);

    if (t != NULL)
        set_size(t->outputs[STEP_STDOUT].fd, rows, columns);
}

void
step_terminal_hang_up(struct step *s)
{
    struct step_task *t = find_terminal(s);

    if (t == NULL || !s->link.is_lost)
        return;
    step_input_drop(s, t);
    close(t->outputs[STEP_STDOUT].fd);
    t->outputs[STEP_STDOUT].fd = -1;
    for (int i = 0; i < HANG_UP_MS / LOOK_MS && step_tasks_reap(s); i++)
        usleep(LOOK_MS * 1000);
}
