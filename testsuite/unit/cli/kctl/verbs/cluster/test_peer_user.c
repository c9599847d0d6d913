/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/cluster/peer_user.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "testsuite/lib/memory_file.h"
#include "testsuite/lib/suite.h"

/* In the kernel's format: 127.0.0.1:40000 of uid 1000 is connected to port
 * 8001, whose end belongs to uid 1001; 40001 is in TIME_WAIT; 40002 is
 * connected to another port.
 */
static const char table[] = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
                            "retrnsmt   uid  timeout inode\n"
                            "   0: 0100007F:9C40 0100007F:1F41 01 00000000:00000000 00:00000000 "
                            "00000000  1000        0 12345 1 0000000000000000 20 4 30 10 -1\n"
                            "   1: 0100007F:1F41 0100007F:9C40 01 00000000:00000000 00:00000000 "
                            "00000000  1001        0 12346 1 0000000000000000 20 4 30 10 -1\n"
                            "   2: 0100007F:9C41 0100007F:1F41 06 00000000:00000000 00:00000000 "
                            "00000000     0        0 0 1 0000000000000000 20 4 30 10 -1\n"
                            "   3: 0100007F:9C42 0100007F:0050 01 00000000:00000000 00:00000000 "
                            "00000000  1002        0 12347 1 0000000000000000 20 4 30 10 -1\n";

static int
find_in(const char *text, const char *address, unsigned port, uid_t *ret_uid)
{
    CLEANUP(memory_file_fini) struct memory_file file;

    memory_file_init(&file, text, strlen(text));
    return peer_user_find(file.path, address, port, ret_uid);
}

START_TEST(the_uid_of_the_other_end_is_found)
{
    uid_t uid = 7;

    ck_assert_int_eq(find_in(table, "127.0.0.1:40000", 8001, &uid), 0);
    ck_assert_uint_eq(uid, 1000);
}
END_TEST

START_TEST(a_connection_that_is_closing_or_elsewhere_is_nobodys)
{
    uid_t uid = 7;

    ck_assert_int_eq(find_in(table, "127.0.0.1:40001", 8001, &uid), -ENOENT);
    ck_assert_int_eq(find_in(table, "127.0.0.1:40002", 8001, &uid), -ENOENT);
    ck_assert_int_eq(find_in(table, "127.0.0.1:40003", 8001, &uid), -ENOENT);
    ck_assert_int_eq(find_in("", "127.0.0.1:40000", 8001, &uid), -ENOENT);
    ck_assert_uint_eq(uid, 7);
}
END_TEST

START_TEST(an_address_of_another_kind_is_refused)
{
    static const char *const cases[] = {"unix",       "[::1]:40000",  "127.0.0.1",
                                        "127.0.0.1:", "127.0.0.1:4x", ""};
    uid_t uid = 7;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_int_eq(find_in(table, cases[i], 8001, &uid), -EINVAL);
}
END_TEST

START_TEST(a_connection_of_our_own_is_ours)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    CLEANUP_FD int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CLEANUP_FD int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned port;
    uid_t uid = (uid_t)-2;
    char text[64];

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(server, 1), 0);
    ck_assert_int_eq(getsockname(server, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(getsockname(client, (struct sockaddr *)&address, &length), 0);
    snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(address.sin_port));

    ck_assert_int_eq(peer_user_find(PEER_USER_TABLE, text, port, &uid), 0);
    ck_assert_uint_eq(uid, getuid());
}
END_TEST

SUITE("peer_user", the_uid_of_the_other_end_is_found,
      a_connection_that_is_closing_or_elsewhere_is_nobodys, an_address_of_another_kind_is_refused,
      a_connection_of_our_own_is_ours)
