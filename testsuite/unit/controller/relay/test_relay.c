/* SPDX-License-Identifier: Apache-2.0 */
/* The relay between a client and a leader, both of which are plain sockets of the test. */
#include "controller/relay/relay.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/relay/proxy_header.h"
#include "controller/store/engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_endpoint.h"
#include "testsuite/lib/suite.h"

#define REQUEST "GET /api/v1/pods HTTP/1.1\r\n\r\n"

/* In the place of the library's: "slow" is known once the gate opens, "twice" when it is
 * asked for again, and the rest is this machine.
 */
static sem_t gate;
static atomic_int asked;

int
http_resolve(const char *host, struct http_endpoints *places, struct error *err)
{
    struct http_endpoint place = {.length = sizeof(struct sockaddr_in)};

    if (strcmp(host, "slow") == 0)
        while (sem_wait(&gate) < 0)
            continue;
    if (strcmp(host, "twice") == 0 && atomic_fetch_add(&asked, 1) == 0)
        return error_set(err, -EHOSTUNREACH, "host '%s': it is not known", host);
    place.at.v4.sin_family = AF_INET;
    place.at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    xgrow(places->items, places->count, places->capacity);
    places->items[places->count++] = place;
    return 0;
}

struct bed {
    struct relay *relay;
    struct proxy_receiver *receiver;
    int plain, tls;     /* where the leader listens */
    int port, tls_port; /* of the relay */
    char address[64];   /* of the client, as the leader was told */
    struct engine_leader leader;
};

static int
listen_somewhere(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static int
free_port(void)
{
    int port;

    close(listen_somewhere(&port));
    return port;
}

/* No leader is known yet. */
static void
begin_alone(struct bed *b)
{
    CLEANUP_FREE char *plain = NULL;
    CLEANUP_FREE char *tls = NULL;
    const char *plain_items[1], *tls_items[1];
    struct setting_texts listen = {.count = 1}, tls_listen = {.count = 1};
    struct relay_settings settings = {
        .listen = &listen, .tls_listen = &tls_listen, .state_dir = "/tmp"};
    struct error err = {0};
    int port;

    memset(b, 0, sizeof(*b));
    plain = xasprintf("127.0.0.1:%d", b->port = free_port());
    tls = xasprintf("127.0.0.1:%d", b->tls_port = free_port());
    plain_items[0] = plain;
    tls_items[0] = tls;
    listen.items = plain_items;
    tls_listen.items = tls_items;
    ck_assert_msg(relay_new(&settings, &b->relay, &err) == 0, "%s", err.text);
    b->plain = listen_somewhere(&port);
    snprintf(b->leader.address, sizeof(b->leader.address), "127.0.0.1:%d", port);
    b->tls = listen_somewhere(&port);
    snprintf(b->leader.tls_address, sizeof(b->leader.tls_address), "127.0.0.1:%d", port);
    strcpy(b->leader.key, "k");
    b->receiver = proxy_receiver_new("k");
}

static void
begin(struct bed *b)
{
    begin_alone(b);
    relay_set_leader(b->relay, &b->leader);
}

static void
end(struct bed *b)
{
    relay_free(b->relay);
    proxy_receiver_free(b->receiver);
    close(b->plain);
    close(b->tls);
}

static int
dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void
give(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (int)strlen(text));
}

static void
expect(int fd, const char *text)
{
    char buffer[256] = "";

    ck_assert_int_eq(recv(fd, buffer, strlen(text), MSG_WAITALL), (int)strlen(text));
    ck_assert_str_eq(buffer, text);
}

static void
expect_end(int fd)
{
    char byte;

    ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
}

/* The leader's end of the connection, after the header. */
static int
accept_relayed(struct bed *b, int listener)
{
    const struct timeval patience = {.tv_sec = 20};
    unsigned char header[PROXY_HEADER_SIZE];
    int fd;

    ck_assert_int_eq(poll(&(struct pollfd){listener, POLLIN, 0}, 1, 20000), 1);
    fd = accept(listener, NULL, NULL);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(recv(fd, header, sizeof(header), MSG_WAITALL), (int)sizeof(header));
    ck_assert(proxy_receiver_accept(b->receiver, header, b->address));
    return fd;
}

START_TEST(bytes_go_both_ways_and_each_end_is_passed_on)
{
    struct sockaddr_in from;
    socklen_t length = sizeof(from);
    struct bed b;
    char expected[64];
    int client, leader;

    begin(&b);
    client = dial(b.port);
    give(client, REQUEST);
    leader = accept_relayed(&b, b.plain);
    getsockname(client, (struct sockaddr *)&from, &length);
    snprintf(expected, sizeof(expected), "127.0.0.1:%d", ntohs(from.sin_port));
    ck_assert_str_eq(b.address, expected);
    expect(leader, REQUEST);
    shutdown(client, SHUT_WR);
    expect_end(leader);
    give(leader, "late, but whole");
    expect(client, "late, but whole");
    close(leader);
    expect_end(client);
    close(client);
    end(&b);
}
END_TEST

START_TEST(TLS_goes_to_the_port_with_TLS)
{
    struct bed b;
    int client, leader;

    begin(&b);
    client = dial(b.tls_port);
    give(client, "GET /livez is no request, but bytes");
    leader = accept_relayed(&b, b.tls);
    expect(leader, "GET /livez is no request, but bytes");
    close(leader);
    close(client);
    end(&b);
}
END_TEST

static void
reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

START_TEST(a_reset_of_either_side_is_passed_on)
{
    struct bed b;
    int client, leader;
    char byte;

    begin(&b);
    for (int side = 0; side < 2; side++) {
        client = dial(b.port);
        give(client, REQUEST);
        leader = accept_relayed(&b, b.plain);
        expect(leader, REQUEST);
        reset(side == 0 ? leader : client);
        ck_assert_int_eq(recv(side == 0 ? client : leader, &byte, 1, 0), -1);
        ck_assert_int_eq(errno, ECONNRESET);
        close(side == 0 ? client : leader);
    }
    end(&b);
}
END_TEST

/* Whatever is on its way is in buffers of the kernel, and in one of the relay. */
START_TEST(a_peer_that_does_not_read_holds_up_the_sender)
{
    enum { MOST = 64 << 20, PIECE = 1 << 16 };
    static char piece[PIECE];
    struct bed b;
    size_t sent = 0, seen = 0;
    int client, leader;
    ssize_t n;

    begin(&b);
    client = dial(b.port);
    give(client, REQUEST);
    leader = accept_relayed(&b, b.plain);
    while (poll(&(struct pollfd){leader, POLLOUT, 0}, 1, 500) > 0 && sent < MOST)
        if ((n = send(leader, piece, PIECE, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
            sent += (size_t)n;
    ck_assert_uint_lt(sent, MOST);
    shutdown(leader, SHUT_WR);
    while ((n = recv(client, piece, PIECE, 0)) > 0)
        seen += (size_t)n;
    ck_assert_uint_eq(seen, sent);
    close(leader);
    close(client);
    end(&b);
}
END_TEST

START_TEST(connections_end_when_another_one_leads)
{
    struct bed b;
    char byte;
    int client, leader;

    begin(&b);
    client = dial(b.port);
    give(client, REQUEST);
    leader = accept_relayed(&b, b.plain);
    expect(leader, REQUEST);
    relay_set_leader(b.relay, NULL);
    ck_assert_int_le(recv(client, &byte, 1, 0), 0);
    close(leader);
    close(client);

    client = dial(b.port);
    give(client, REQUEST);
    expect(client, "HTTP/1.1 503 ");
    close(client);

    relay_set_leader(b.relay, &b.leader);
    client = dial(b.port);
    give(client, REQUEST);
    leader = accept_relayed(&b, b.plain);
    expect(leader, REQUEST);
    close(leader);
    close(client);
    end(&b);
}
END_TEST

START_TEST(a_leader_that_is_not_there_is_said)
{
    struct bed b;
    int client;

    begin(&b);
    close(b.plain);
    client = dial(b.port);
    give(client, REQUEST);
    expect(client, "HTTP/1.1 503 ");
    close(client);
    client = dial(b.port);
    give(client, "GET /readyz HTTP/1.1\r\n\r\n");
    expect(client, "HTTP/1.1 503 ");
    close(client);
    client = dial(b.port);
    give(client, "GET /livez HTTP/1.1\r\n\r\n");
    expect(client, "HTTP/1.1 200 ");
    close(client);
    b.plain = -1;
    end(&b);
}
END_TEST

static void
name_leader(struct bed *b, const char *host)
{
    struct engine_leader named = b->leader;

    snprintf(named.address, sizeof(named.address), "%s%s", host, strrchr(b->leader.address, ':'));
    relay_set_leader(b->relay, &named);
}

/* Asks until the leader is known. */
static void
expect_relayed(struct bed *b)
{
    int client = -1, tries = 0;

    do {
        char status[14] = "";

        if (client >= 0)
            close(client);
        client = dial(b->port);
        give(client, REQUEST);
        if (poll(&(struct pollfd){b->plain, POLLIN, 0}, 1, 200) == 1)
            break;
        (void)recv(client, status, 13, MSG_DONTWAIT);
    } while (++tries < 100);
    ck_assert_int_lt(tries, 100);
    close(accept_relayed(b, b->plain));
    close(client);
}

START_TEST(a_name_that_takes_long_holds_nobody_up)
{
    struct bed b;
    int client;

    sem_init(&gate, 0, 0);
    begin_alone(&b);
    name_leader(&b, "slow");
    client = dial(b.port);
    give(client, REQUEST);
    expect(client, "HTTP/1.1 503 ");
    close(client);
    sem_post(&gate);
    expect_relayed(&b);
    end(&b);
}
END_TEST

static bool
is_alone(void)
{
    struct stat status;

    return stat("/proc/self/task", &status) == 0 && status.st_nlink == 3;
}

START_TEST(nor_the_end_of_the_relay)
{
    struct bed b;

    sem_init(&gate, 0, 0);
    begin_alone(&b);
    name_leader(&b, "slow");
    name_leader(&b, "slow");
    end(&b);
    sem_post(&gate);
    sem_post(&gate);
    for (int i = 0; i < 1000 && !is_alone(); i++)
        poll(NULL, 0, 10);
}
END_TEST

START_TEST(a_name_that_is_not_known_is_asked_for_again)
{
    struct bed b;

    begin_alone(&b);
    name_leader(&b, "twice");
    expect_relayed(&b);
    ck_assert_int_eq(atomic_load(&asked), 2);
    end(&b);
}
END_TEST

START_TEST(a_relayed_connection_is_not_relayed_again)
{
    struct proxy_sender sender = {.key = "k", .relay = 3};
    struct sockaddr_in from = {.sin_family = AF_INET};
    unsigned char header[PROXY_HEADER_SIZE];
    struct bed b;
    int client;

    begin(&b);
    client = dial(b.port);
    ck_assert(proxy_header_write(&sender, (const struct sockaddr *)&from, header));
    ck_assert_int_eq(send(client, header, sizeof(header), 0), (int)sizeof(header));
    ck_assert_int_le(recv(client, header, 1, 0), 0);
    ck_assert_int_eq(poll(&(struct pollfd){b.plain, POLLIN, 0}, 1, 100), 0);
    close(client);
    end(&b);
}
END_TEST

SUITE("relay", bytes_go_both_ways_and_each_end_is_passed_on, TLS_goes_to_the_port_with_TLS,
      a_reset_of_either_side_is_passed_on, a_peer_that_does_not_read_holds_up_the_sender,
      connections_end_when_another_one_leads, a_leader_that_is_not_there_is_said,
      a_name_that_takes_long_holds_nobody_up, nor_the_end_of_the_relay,
      a_name_that_is_not_known_is_asked_for_again, a_relayed_connection_is_not_relayed_again)
