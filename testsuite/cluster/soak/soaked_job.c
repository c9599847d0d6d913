/* SPDX-License-Identifier: Apache-2.0 */
/* soaked_job - the program of every job of a soak test; records its own run
 *
 *   soaked_job LEDGER TOKEN MILLISECONDS END [brood] [stubborn]
 *
 * It locks a file for its job and one for each of its cores while any of its
 * processes lives, so that the kernel reveals a second run, or a core that two
 * jobs have, whatever was killed. It writes a line when it starts and one when
 * it ends by itself. END is an exit code, or "kill". "brood" adds a process
 * that would outlive the job; "stubborn" ignores SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct soaked {
    const char *ledger;
    const char *token;
    const char *job;
    const char *index;
    const char *pod;
    const char *node;
    const char *cpus;
};

static const char *
said_of(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : "-";
}

/* Writes one line by one write, so that lines of many jobs do not mix. */
static void
note(const struct soaked *soaked, const char *file, const char *verb, const char *what)
{
    char path[512];
    char line[1024];
    struct timespec now;
    int length;
    int fd;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, sizeof path, "%s/%s", soaked->ledger, file);
    length = snprintf(line, sizeof line, "%s %s %s %s %s %s %s %s %lld.%03ld\n", verb,
                      soaked->token, soaked->job, soaked->index, soaked->pod, soaked->node,
                      soaked->cpus, what, (long long)now.tv_sec, now.tv_nsec / 1000000);
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, line, (size_t)length) != length) {
        fprintf(stderr, "soaked_job: cannot write %s: %s\n", path, strerror(errno));
        _exit(99);
    }
    close(fd);
}

/* The descriptor stays open, here and in the brood's process. */
static void
lock(const struct soaked *soaked, const char *what, const char *name)
{
    char path[512];
    char holder[256] = "";
    int fd;

    snprintf(path, sizeof path, "%s/locks/%s-%s", soaked->ledger, what, name);
    fd = open(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0) {
        note(soaked, "findings", "unlockable", path);
        return;
    }
    fchmod(fd, 0666);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ssize_t length = read(fd, holder, sizeof holder - 1);

        holder[length > 0 ? length : 0] = '\0';
        for (char *c = holder; *c != '\0'; c++)
            if (*c == ' ' || *c == '\n')
                *c = ',';
        note(soaked, "findings", what, holder);
        return;
    }
    if (ftruncate(fd, 0) == 0)
        dprintf(fd, "%s %s %s process %d", name, soaked->token, soaked->pod, (int)getpid());
}

/* KILN_CPUS is like "0-3,8"; the node's file tells how many CPUs a core has. */
static void
lock_cores(const struct soaked *soaked)
{
    char path[512];
    char *list = strdup(soaked->cpus);
    char *rest = NULL;
    int width = 1;
    long locked = -1;
    FILE *file;

    snprintf(path, sizeof path, "%s/width-%s", soaked->ledger, soaked->node);
    file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%d", &width) != 1 || width < 1)
            width = 1;
        fclose(file);
    }
    for (char *range = strtok_r(list, ",", &rest); range != NULL;
         range = strtok_r(NULL, ",", &rest)) {
        char *dash = NULL;
        long first = strtol(range, &dash, 10);
        long last = *dash == '-' ? strtol(dash + 1, NULL, 10) : first;

        if (dash == range)
            break;
        for (long core = first / width; core <= last / width; core++) {
            char name[128];

            if (core == locked)
                continue;
            locked = core;
            snprintf(name, sizeof name, "%s-%ld", soaked->node, core);
            lock(soaked, "core", name);
        }
    }
    free(list);
}

/* Detaches a process from the job by two forks and a session of its own. */
static void
leave_a_brood(void)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    for (;;)
        pause();
}

static void
sleep_for(long milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

int
main(int argc, char **argv)
{
    struct soaked soaked;
    char name[128];
    char process[64];

    if (argc < 5) {
        fprintf(stderr, "usage: soaked_job LEDGER TOKEN MILLISECONDS END "
                        "[brood] [stubborn]\n");
        return 64;
    }
    soaked = (struct soaked){
        .ledger = argv[1],
        .token = argv[2],
        .job = said_of("KILN_JOB_ID"),
        .index = said_of("JOB_COMPLETION_INDEX"),
        .pod = said_of("KILN_POD_NAME"),
        .node = said_of("KILN_NODE_NAME"),
        .cpus = said_of("KILN_CPUS"),
    };
    snprintf(name, sizeof name, "%s-%s", soaked.job, soaked.index);
    lock(&soaked, "twice", name);
    lock_cores(&soaked);
    snprintf(process, sizeof process, "%d,%d", (int)getpid(), (int)getppid());
    note(&soaked, "runs", "start", process);
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "brood") == 0)
            leave_a_brood();
        if (strcmp(argv[i], "stubborn") == 0)
            signal(SIGTERM, SIG_IGN);
    }
    sleep_for(strtol(argv[3], NULL, 10));
    if (strcmp(argv[4], "kill") == 0) {
        note(&soaked, "runs", "end", "kill");
        raise(SIGKILL);
    }
    note(&soaked, "runs", "end", argv[4]);
    _exit((int)strtol(argv[4], NULL, 10));
}
