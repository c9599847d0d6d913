/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/cluster/peer_user.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MAX_SIZE (64u << 20)

/* From linux/tcp.h. On a local connection the peer's socket is established
 * before the server accepts it.
 */
#define STATE_ESTABLISHED 1u

/* Parses "127.0.0.1:40112". */
static int
split(const char *address, unsigned *ret_ip, unsigned *ret_port)
{
    const char *colon = strrchr(address, ':');
    char host[INET_ADDRSTRLEN];
    struct in_addr ip;
    int end = 0;

    if (colon == NULL || (size_t)(colon - address) >= sizeof(host))
        return -EINVAL;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    if (inet_pton(AF_INET, host, &ip) != 1 || sscanf(colon + 1, "%5u%n", ret_port, &end) != 1
        || colon[1 + end] != '\0')
        return -EINVAL;
    *ret_ip = ip.s_addr;
    return 0;
}

/* A row has the number, local and remote address in hexadecimal (an address is
 * printed as stored in memory), state, queues, timer, retransmissions, and uid.
 */
static int
find_in(const char *table, const char *address, unsigned port, uid_t *ret_uid)
{
    unsigned ip;
    unsigned peer_port;
    int r = split(address, &ip, &peer_port);

    if (r < 0)
        return r;
    for (const char *line = table; line != NULL && *line != '\0';
         line = strchr(line, '\n'), line = line != NULL ? line + 1 : NULL) {
        unsigned local_ip;
        unsigned local_port;
        unsigned remote_ip;
        unsigned remote_port;
        unsigned state;
        unsigned uid;

        if (sscanf(line, "%*d: %8X:%4X %8X:%4X %2X %*X:%*X %*X:%*X %*X %u", &local_ip, &local_port,
                   &remote_ip, &remote_port, &state, &uid)
            != 6)
            continue;
        if (local_ip == ip && local_port == peer_port && remote_ip == ip && remote_port == port
            && state == STATE_ESTABLISHED) {
            *ret_uid = uid;
            return 0;
        }
    }
    return -ENOENT;
}

int
peer_user_find(const char *table_path, const char *address, unsigned port, uid_t *ret_uid)
{
    CLEANUP_STRBUF struct strbuf table = STRBUF_INIT;
    int r = file_read(table_path, MAX_SIZE, &table, NULL);

    if (r < 0)
        return r;
    return find_in(table.text, address, port, ret_uid);
}
