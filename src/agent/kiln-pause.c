/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-pause - holds the resources of a pod on which no script runs
 *
 * The script of a job of several nodes runs on the first of them. On the others
 * this program runs as the user, until it is told to end. It ends by SIGTERM as
 * a program without a handler does, so that its end is never taken for a success;
 * all other signals are meant for the script, and are ignored.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
ignore_other_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        if (number != SIGTERM)
            (void)signal(number, SIG_IGN); /* SIGKILL, SIGSTOP: refused */
}

/* The shepherd may have started this with SIGTERM blocked. */
static void
accept_end(void)
{
    sigset_t end;

    (void)signal(SIGTERM, SIG_DFL);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    (void)sigprocmask(SIG_UNBLOCK, &end, NULL);
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        printf("Usage: kiln-pause\n"
               "Holds the resources of a pod until it is told to end. kiln-agent starts it on\n"
               "the nodes of a job on which its script does not run.\n"
               "\n"
               "      --help  show this help\n");
        return 0;
    }
    if (argc > 1) {
        fprintf(stderr, "kiln-pause: unexpected argument '%s'; it takes none\n", argv[1]);
        return 2;
    }
    ignore_other_signals();
    accept_end();
    for (;;)
        pause();
}
