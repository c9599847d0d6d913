/* SPDX-License-Identifier: Apache-2.0 */
/* pam_session - a login without a network: the account and session modules of a service
 *
 *   pam_session FOLDER USER COMMAND...
 *
 * FOLDER has the file of the service, "login". What the modules tell the user is printed.
 * If they admit, the command runs as the user. Exit status 3: no account; 4: no session.
 */
#include <grp.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int
talk(int n, const struct pam_message **messages, struct pam_response **ret_responses, void *context)
{
    (void)context;
    *ret_responses = calloc((size_t)n, sizeof(**ret_responses));
    for (int i = 0; i < n; i++)
        printf("%s\n", messages[i]->msg);
    fflush(stdout);
    return *ret_responses != NULL ? PAM_SUCCESS : PAM_BUF_ERR;
}

int
main(int argc, char **argv)
{
    const struct pam_conv conv = {.conv = talk};
    pam_handle_t *pam = NULL;
    const struct passwd *who;
    int status = 0;
    pid_t pid;

    if (argc < 4 || (who = getpwnam(argv[2])) == NULL
        || pam_start_confdir("login", argv[2], &conv, argv[1], &pam) != PAM_SUCCESS)
        return 2;
    if (pam_acct_mgmt(pam, 0) != PAM_SUCCESS)
        return 3;
    if (pam_open_session(pam, 0) != PAM_SUCCESS)
        return 4;
    pid = fork();
    if (pid == 0) {
        if (setgid(who->pw_gid) == 0 && setuid(who->pw_uid) == 0)
            execvp(argv[3], argv + 3);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    pam_close_session(pam, 0);
    pam_end(pam, PAM_SUCCESS);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
