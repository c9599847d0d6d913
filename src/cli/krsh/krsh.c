/* SPDX-License-Identifier: Apache-2.0 */
/* krsh.c - mpirun's way to the other nodes of a job, in the place of ssh
 *
 * Becomes a krun whose one task has all CPUs of the job on that node. It ends with
 * the mpirun that started it, and the step with it: an mpirun that is killed tells
 * nobody, and its daemons would go on.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/krsh/krsh_call.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"

#define FAILED 255 /* as of ssh */

static const char help[] =
    "Usage: krsh [OPTION]... NODE COMMAND...\n"
    "Runs a shell command on another node of this job. mpirun uses it as it would use\n"
    "ssh: most options of ssh are accepted, and have no effect. People use krun.\n"
    "\n"
    "  -l USER    only your own name is accepted\n"
    "  --help     show this help, and exit\n"
    "  --version  show the version, and exit\n";

static int
fail(const char *words)
{
    fprintf(stderr, "krsh: %s\n", words);
    return FAILED;
}

static bool
is_own_name(const char *user)
{
    const struct passwd *own = getpwuid(getuid());

    return own != NULL && strcmp(own->pw_name, user) == 0;
}

/* Its parent may have died before the request. */
static void
end_with_parent(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(FAILED);
}

/* The krun of the same installation: beside this program in a build, or in the
 * folder of programs.
 */
static void
become(const char *const *words)
{
    char *const *arguments = (char *const *)(uintptr_t)words;
    CLEANUP_STRBUF struct strbuf beside = STRBUF_INIT;
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length > 0) {
        own[length] = '\0';
        *strrchr(own, '/') = '\0';
        strbuf_printf(&beside, "%s/krun", own);
        execv(beside.text, arguments);
    }
    execv(BINDIR "/krun", arguments);
    execvp("krun", arguments);
}

int
main(int argc, char **argv)
{
    const char *const *words = (const char *const *)argv;
    pid_t parent = getppid();
    CLEANUP_STRBUF struct strbuf command = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    struct krsh_call call;
    struct error err = {0};

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(help, stdout) < 0;
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("krsh (Kiln) %s\n", version_text()) < 0;
    if (krsh_call_read(argc, words, &call, &err) < 0)
        return fail(err.text);
    if (call.first == argc)
        return fail("a command is needed: terminals are not given here; use krun --pty");
    if (call.user != NULL && !is_own_name(call.user))
        return fail("jobs run as one user; only your own name is accepted");
    krsh_call_join(argc, words, call.first, &command);
    strbuf_printf(&nodes, "--nodelist=%s", call.host);
    end_with_parent(parent);
    become((const char *const[]){"krun", "--overlap", "--overcommit", "--nodes=1", "--ntasks=1",
                                 "--cpu-bind=none", "--export=ALL", "--quiet", nodes.text,
                                 "/bin/sh", "-c", command.text, NULL});
    krsh_call_fini(&call);
    return fail("krun is not installed; the administrator installs it with Kiln's programs");
}
