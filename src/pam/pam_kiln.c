/* SPDX-License-Identifier: Apache-2.0 */
/* pam_kiln - admits to a node who has a running job there, and puts the session into the
 * job's cgroup
 *
 * It asks the agent of the node over the socket where kruns ask for steps. It is loaded into
 * sshd and other programs of root, so it has nothing of Kiln's libraries, starts nothing,
 * changes no signal, and waits for a bounded time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "lib/step/step_frames.h"

#define SOCKET     LOCALSTATEDIR "/lib/kiln-agent/steps"
#define ANSWER_S   10
#define WORDS_MOST 512
#define EXPORTED   __attribute__((visibility("default")))

struct pam_kiln {
    pam_handle_t *pam;
    const char *socket, *exempt;
    bool admits_if_away, is_quiet;
    uid_t uid;
    const char *user;
};

enum pam_kiln_answer { ANSWER_YES, ANSWER_NO, ANSWER_AWAY };

/* --- the agent ------------------------------------------------------------------
 */

/* A path may be longer than an address can hold, so its directory is opened first. */
static int
connect_to(const char *path)
{
    const struct timeval patience = {.tv_sec = ANSWER_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *slash = strrchr(path, '/');
    char folder[4096];
    int dir, fd, r;

    if (slash == NULL || (size_t)(slash - path) >= sizeof(folder) || strlen(slash) > 64)
        return -1;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    dir = open(folder[0] != '\0' ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.64s", dir, slash + 1);
    r = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0
                || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0
                || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0
            ? -1
            : 0;
    close(dir);
    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? -1 : fd;
}

static int
send_request(int fd, const char *text)
{
    const size_t length = strlen(text);
    char frame[STEP_FRAME_HEADER + 64] = {0};

    frame[3] = (char)length;
    frame[4] = STEP_FRAME_ENTER;
    memset(frame + 8, 0xFF, 4); /* of no task */
    memcpy(frame + STEP_FRAME_HEADER, text, length);
    return send(fd, frame, STEP_FRAME_HEADER + length, MSG_NOSIGNAL)
                   == (ssize_t)(STEP_FRAME_HEADER + length)
               ? 0
               : -1;
}

static int
receive(int fd, char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t n = recv(fd, bytes + at, length - at, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

/* *words: the name of the pod, or why not. */
static enum pam_kiln_answer
ask(const struct pam_kiln *k, bool moves, char words[WORDS_MOST])
{
    const int fd = connect_to(k->socket);
    unsigned char header[STEP_FRAME_HEADER];
    char text[64];
    enum pam_kiln_answer answer = ANSWER_AWAY;
    size_t length;

    words[0] = '\0';
    if (fd < 0)
        return ANSWER_AWAY;
    snprintf(text, sizeof(text), "%u%s", (unsigned)k->uid, moves ? " session" : "");
    if (send_request(fd, text) == 0 && receive(fd, (char *)header, sizeof(header)) == 0) {
        length =
            (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
        length = length < WORDS_MOST ? length : WORDS_MOST - 1;
        if (receive(fd, words, length) == 0) {
            words[length] = '\0';
            answer = header[4] == STEP_FRAME_ACCEPT   ? ANSWER_YES
                     : header[4] == STEP_FRAME_REFUSE ? ANSWER_NO
                                                      : ANSWER_AWAY;
        }
    }
    close(fd);
    return answer;
}

/* --- the module -----------------------------------------------------------------
 */

static int
read_arguments(struct pam_kiln *k, int argc, const char **argv)
{
    k->socket = SOCKET;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "socket=", 7) == 0 && argv[i][7] == '/') {
            k->socket = argv[i] + 7;
        } else if (strncmp(argv[i], "exempt=", 7) == 0) {
            k->exempt = argv[i] + 7;
        } else if (strcmp(argv[i], "away=admit") == 0) {
            k->admits_if_away = true;
        } else if (strcmp(argv[i], "away=deny") == 0) {
            k->admits_if_away = false;
        } else if (strcmp(argv[i], "quiet") == 0) {
            k->is_quiet = true;
        } else {
            pam_syslog(k->pam, LOG_ERR,
                       "'%s' is no argument; there are socket=/PATH, exempt=USER,@GROUP,..., "
                       "away=deny|admit, quiet",
                       argv[i]);
            return PAM_SERVICE_ERR;
        }
    }
    return PAM_SUCCESS;
}

/* Names of users, and of groups with @, separated by commas. */
static bool
is_exempt(const struct pam_kiln *k)
{
    const char *at = k->exempt;

    if (k->uid == 0)
        return true;
    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, ",");
        char name[256];

        if (length > 0 && length < sizeof(name)) {
            memcpy(name, at, length);
            name[length] = '\0';
            if (name[0] == '@' ? pam_modutil_user_in_group_nam_nam(k->pam, k->user, name + 1)
                               : strcmp(name, k->user) == 0)
                return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

static int
begin(struct pam_kiln *k, pam_handle_t *pam, int argc, const char **argv)
{
    const struct passwd *who;
    int r;

    *k = (struct pam_kiln){.pam = pam};
    r = read_arguments(k, argc, argv);
    if (r == PAM_SUCCESS)
        r = pam_get_user(pam, &k->user, NULL);
    if (r != PAM_SUCCESS)
        return r;
    who = pam_modutil_getpwnam(pam, k->user);
    if (who == NULL)
        return PAM_USER_UNKNOWN;
    k->uid = who->pw_uid;
    return PAM_SUCCESS;
}

static int
deny(const struct pam_kiln *k, const char *words, int code)
{
    if (!k->is_quiet)
        pam_error(k->pam, "access denied: %s", words);
    pam_syslog(k->pam, LOG_NOTICE, "%s was denied: %s", k->user, words);
    return code;
}

static int
admit(pam_handle_t *pam, bool moves, int argc, const char **argv, int denial)
{
    char words[WORDS_MOST];
    struct pam_kiln k;
    int r = begin(&k, pam, argc, argv);

    if (r != PAM_SUCCESS)
        return r;
    if (is_exempt(&k))
        return PAM_SUCCESS;
    switch (ask(&k, moves, words)) {
    case ANSWER_YES:
        return PAM_SUCCESS;
    case ANSWER_NO:
        return deny(&k, words, denial);
    case ANSWER_AWAY:
        break;
    }
    if (k.admits_if_away)
        return PAM_SUCCESS;
    snprintf(words, sizeof(words),
             "the agent of this node does not answer at '%.300s', so nobody knows whether you have "
             "a job here",
             k.socket);
    return deny(&k, words, denial);
}

EXPORTED int
pam_sm_acct_mgmt(pam_handle_t *pam, UNUSED int flags, int argc, const char **argv)
{
    return admit(pam, false, argc, argv, PAM_PERM_DENIED);
}

EXPORTED int
pam_sm_open_session(pam_handle_t *pam, UNUSED int flags, int argc, const char **argv)
{
    return admit(pam, true, argc, argv, PAM_SESSION_ERR);
}

EXPORTED int
pam_sm_close_session(UNUSED pam_handle_t *pam, UNUSED int flags, UNUSED int argc,
                     UNUSED const char **argv)
{
    return PAM_SUCCESS;
}
