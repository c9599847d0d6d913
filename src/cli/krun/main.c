/* SPDX-License-Identifier: Apache-2.0 */
/* krun - runs tasks on the CPUs of a job */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/krun/krun_stream.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_request.h"

struct krun {
    struct krun_stream *stream;
    int code;
};

static void
on_waiting(const char *words, UNUSED void *context)
{
    fprintf(stderr, "krun: %s\n", words);
}

static void
on_refused(const char *words, UNUSED void *context)
{
    fprintf(stderr, "krun: error: %s\n", words);
}

static void
on_accepted(UNUSED const struct step_grant *grant, UNUSED void *context)
{
}

static void
on_output(UNUSED uint32_t task, UNUSED enum step_stream stream, const char *bytes, size_t length,
          struct strbuf *out, UNUSED void *context)
{
    strbuf_add(out, bytes, length);
}

static void
on_ended(uint32_t task, const struct step_exit *end, void *context)
{
    struct krun *k = context;
    const int code = end->signal != 0 ? 128 + (int)end->signal : (int)end->exit_code;

    if (code > k->code)
        k->code = code;
    if (end->message_length > 0)
        fprintf(stderr, "krun: error: task %u: %.*s\n", task, (int)end->message_length,
                end->message);
    else if (end->signal != 0)
        fprintf(stderr, "krun: error: task %u: %s\n", task, strsignal((int)end->signal));
    else if (end->exit_code != 0)
        fprintf(stderr, "krun: error: task %u: Exited with exit code %u\n", task, end->exit_code);
}

static void
on_signalled(int signal_number, void *context)
{
    struct krun *k = context;

    krun_stream_signal(k->stream, STEP_ALL_TASKS, signal_number);
}

int
main(int argc, char **argv)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *directory = getcwd(NULL, 0);
    struct step_request q = {0};
    struct krun k = {0};
    struct error err = {0};
    unsigned n = 0;
    int option, r;

    while ((option = getopt(argc, argv, "+n:c:O")) != -1)
        switch (option) {
        case 'n':
            q.tasks = atoi(optarg);
            break;
        case 'c':
            q.cpus_per_task = atoi(optarg);
            break;
        case 'O':
            q.overlaps = true;
            break;
        default:
            return 2;
        }
    q.pod_uid = getenv("KILN_POD_UID");
    q.directory = directory;
    q.umask = umask(0);
    umask((mode_t)q.umask);
    q.arguments.items = (const char **)(uintptr_t)(argv + optind);
    q.arguments.count = (unsigned)(argc - optind);
    while (environ[n] != NULL)
        n++;
    q.environment.items = (const char **)(uintptr_t)environ;
    q.environment.count = n;
    if (step_request_check(&q, &err) < 0 || getenv("KILN_STEP_SOCKET") == NULL) {
        fprintf(stderr, "krun: error: %s\n", err.text);
        return 1;
    }
    step_request_encode(&q, &text);
    r = krun_stream_open(
        &(struct krun_stream_settings){
            .socket = getenv("KILN_STEP_SOCKET"),
            .request = text.text,
            .length = text.length,
            .waiting = on_waiting,
            .refused = on_refused,
            .accepted = on_accepted,
            .output = on_output,
            .ended = on_ended,
            .signalled = on_signalled,
            .context = &k,
            .signals = signals,
            .input_fd = STDIN_FILENO,
            .output_fds = {-1, STDOUT_FILENO, STDERR_FILENO},
        },
        &k.stream, &err);
    if (r == 0)
        r = krun_stream_run(k.stream, &err);
    krun_stream_free(k.stream);
    if (r == -ECANCELED)
        return 1;
    if (r < 0) {
        fprintf(stderr, "krun: error: %s\n", err.text);
        return 1;
    }
    return k.code;
}
