/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/readiness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#ifdef HAVE_SYSTEMD

/* Opens the socket on which systemd would receive notifications. */
static int
listen_as_systemd(const char *dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/n", dir);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    return fd;
}

static void
check_heard(int fd, const char *expected)
{
    char text[1024] = "";

    ck_assert_int_gt(recv(fd, text, sizeof(text) - 1, 0), 0);
    ck_assert_ptr_eq(strstr(text, expected), text);
}

START_TEST(systemd_hears_each_state)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    int fd = listen_as_systemd(dir);

    readiness_ready();
    check_heard(fd, "READY=1");
    readiness_status("%d jobs\nhere", 7);
    check_heard(fd, "STATUS=7 jobs here");
    readiness_reloading();
    check_heard(fd, "RELOADING=1\nMONOTONIC_USEC=");
    readiness_stopping();
    check_heard(fd, "STOPPING=1");
    close(fd);
}
END_TEST

#else

START_TEST(systemd_hears_each_state)
{
    readiness_ready();
}
END_TEST

#endif

START_TEST(without_systemd_nothing_happens)
{
    unsetenv("NOTIFY_SOCKET");

    readiness_ready();
    readiness_status("%s", "x");
    readiness_stopping();
}
END_TEST

SUITE("readiness", systemd_hears_each_state, without_systemd_nothing_happens)
