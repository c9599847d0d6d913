/* SPDX-License-Identifier: Apache-2.0 */
/* A rank that ends without having finalized leaves the others waiting in a barrier for ever,
 * and no timeout could tell this from a slow program. So the state of each client is kept, and
 * an end at the wrong moment ends the step.
 */
#include "lib/step/pmi_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_layout.h"

/* As the client has them: with the line's other words a line stays below its 1,024. */
#define KEY_MOST   64u
#define VALUE_MOST 1024u
#define NAME       "kiln"

enum client_state {
    CLIENT_NEW, /* no PMI so far: a shell, perhaps */
    CLIENT_RUNNING,
    CLIENT_WAITING, /* in the barrier */
    CLIENT_FINALIZED,
    CLIENT_ENDED,
};

struct pmi_server {
    enum client_state *clients;
    unsigned n_clients, size;
    struct map *table; /* of allocated values */
    size_t table_bytes;
    char *mapping;       /* the value of PMI_process_mapping, or NULL */
    struct strbuf fresh; /* lines for other nodes */
    unsigned n_nodes;
    int code;
};

/* --- where the ranks are -----------------------------------------------------
 */

/* Blocks of (first node, number of nodes, ranks on each). Only ranks that ascend over
 * the nodes have this short form; MPICH compares the names of nodes without it.
 */
static char *
format_mapping(const struct step_layout *l)
{
    struct strbuf text = STRBUF_INIT;
    unsigned rank = 0;

    strbuf_add_text(&text, "(vector");
    for (unsigned i = 0, n; i < l->n_nodes; i += n) {
        for (unsigned j = 0; j < l->nodes[i].n_tasks; j++)
            if (l->nodes[i].tasks[j] != rank++)
                goto without;
        for (n = 1; i + n < l->n_nodes && l->nodes[i + n].n_tasks == l->nodes[i].n_tasks; n++)
            for (unsigned j = 0; j < l->nodes[i + n].n_tasks; j++)
                if (l->nodes[i + n].tasks[j] != rank++)
                    goto without;
        strbuf_printf(&text, ",(%u,%u,%u)", i, n, l->nodes[i].n_tasks);
    }
    strbuf_add_text(&text, ")");
    if (text.length < VALUE_MOST)
        return strbuf_take(&text);
without:
    strbuf_fini(&text);
    return NULL;
}

/* --- life --------------------------------------------------------------------
 */

void
pmi_server_free(struct pmi_server *s)
{
    const char *key;
    void *value;
    size_t at = 0;

    if (s == NULL)
        return;
    while (map_next(s->table, &at, &key, &value))
        free(value);
    map_free(s->table);
    free(s->clients);
    free(s->mapping);
    strbuf_fini(&s->fresh);
    free(s);
}

struct pmi_server *
pmi_server_new(const struct step_layout *layout, unsigned node)
{
    struct pmi_server *s = xnew(struct pmi_server);

    s->n_clients = layout->nodes[node].n_tasks;
    s->size = layout->n_tasks;
    s->n_nodes = layout->n_nodes;
    strbuf_init(&s->fresh);
    s->clients = xnew_array(enum client_state, s->n_clients + 1);
    s->table = map_new();
    s->mapping = format_mapping(layout);
    return s;
}

/* --- requests ------------------------------------------------------------------
 */

/* The value of " name=" in the line, up to the next blank; the last value may not have
 * any. False: there is none, or it has `size` bytes or more.
 */
static bool
find_value(const char *line, const char *name, char *value, size_t size)
{
    const size_t length = strlen(name);

    for (const char *at = line; at != NULL; at = strchr(at, ' ')) {
        size_t n;

        at += strspn(at, " ");
        if (strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        at += length + 1;
        n = strcspn(at, " ");
        if (n >= size)
            return false;
        memcpy(value, at, n);
        value[n] = '\0';
        return true;
    }
    return false;
}

static bool
add_to_table(struct pmi_server *s, const char *key, const char *value)
{
    char *old;

    if (s->table_bytes + strlen(key) + strlen(value) > PMI_TABLE_MOST)
        return false;
    s->table_bytes += strlen(key) + strlen(value);
    old = map_put(s->table, key, xstrdup(value));
    if (old != NULL)
        s->table_bytes -= strlen(key) + strlen(old);
    free(old);
    return true;
}

static void
put(struct pmi_server *s, const char *line, struct strbuf *answer)
{
    char key[KEY_MOST + 1], value[VALUE_MOST + 1];

    if (!find_value(line, "key", key, sizeof(key)) || key[0] == '\0'
        || !find_value(line, "value", value, sizeof(value))) {
        strbuf_add_text(answer, "cmd=put_result rc=-1 msg=key_or_value_invalid\n");
        return;
    }
    if (s->fresh.length > PMI_TABLE_MOST || !add_to_table(s, key, value)) {
        strbuf_add_text(answer, "cmd=put_result rc=-1 msg=no_room\n");
        return;
    }
    if (s->n_nodes > 1)
        strbuf_printf(&s->fresh, "%s=%s\n", key, value);
    strbuf_add_text(answer, "cmd=put_result rc=0 msg=success\n");
}

static void
get(struct pmi_server *s, const char *line, struct strbuf *answer)
{
    char key[KEY_MOST + 1];
    const char *value = NULL;

    if (find_value(line, "key", key, sizeof(key))) {
        value = map_find(s->table, key);
        if (value == NULL && strcmp(key, "PMI_process_mapping") == 0)
            value = s->mapping;
    }
    if (value != NULL)
        strbuf_printf(answer, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        strbuf_add_text(answer, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static bool
is_barrier_full(const struct pmi_server *s)
{
    unsigned waiting = 0;

    for (unsigned i = 0; i < s->n_clients; i++) {
        if (s->clients[i] != CLIENT_WAITING && s->clients[i] != CLIENT_FINALIZED)
            return false;
        waiting += s->clients[i] == CLIENT_WAITING;
    }
    return waiting > 0;
}

/* A client that has ended will never enter the barrier. */
static enum pmi_outcome
enter_barrier(struct pmi_server *s, unsigned client)
{
    s->clients[client] = CLIENT_WAITING;
    if (pmi_server_left(s) < s->n_clients)
        return PMI_LEFT;
    return is_barrier_full(s) ? PMI_BARRIER : PMI_GO_ON;
}

static enum pmi_outcome
begin(struct pmi_server *s, unsigned client, const char *line, struct strbuf *answer)
{
    char version[16];

    if (!find_value(line, "pmi_version", version, sizeof(version)) || strcmp(version, "1") != 0) {
        strbuf_add_text(answer, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
        return PMI_GO_ON;
    }
    s->clients[client] = CLIENT_RUNNING;
    strbuf_add_text(answer, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    return PMI_GO_ON;
}

static enum pmi_outcome
abort_all(struct pmi_server *s, const char *line)
{
    char code[16];

    s->code = find_value(line, "exitcode", code, sizeof(code)) ? atoi(code) : 1;
    return PMI_ABORT;
}

/* Requests that have the same answer always. */
static const struct {
    const char *command, *answer;
} constant[] = {
    {"get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"},
    {"get_appnum", "cmd=appnum appnum=0\n"},
    {"get_my_kvsname", "cmd=my_kvsname kvsname=" NAME "\n"},
    {"publish_name", "cmd=publish_result rc=-1 info=not_supported msg=not_supported\n"},
    {"unpublish_name", "cmd=unpublish_result rc=-1 info=not_supported msg=not_supported\n"},
    {"lookup_name", "cmd=lookup_result rc=-1 info=not_supported msg=not_supported\n"},
};

static bool
answer_constant(const char *command, struct strbuf *answer)
{
    for (size_t i = 0; i < sizeof(constant) / sizeof(constant[0]); i++)
        if (strcmp(command, constant[i].command) == 0) {
            strbuf_add_text(answer, constant[i].answer);
            return true;
        }
    return false;
}

/* The lines of a spawn end with "endcmd"; those between are words with an equals sign. */
static enum pmi_outcome
take_word(const char *line, struct strbuf *answer)
{
    if (strcmp(line, "endcmd") == 0) {
        strbuf_add_text(answer, "cmd=spawn_result rc=-1 errcodes=-1 msg=not_supported\n");
        return PMI_GO_ON;
    }
    return strchr(line, '=') != NULL ? PMI_GO_ON : PMI_BROKEN;
}

static enum pmi_outcome
take_command(struct pmi_server *s, unsigned client, const char *command, const char *line,
             struct strbuf *answer)
{
    if (strcmp(command, "init") == 0)
        return begin(s, client, line, answer);
    if (s->clients[client] != CLIENT_RUNNING)
        return PMI_BROKEN;
    if (strcmp(command, "put") == 0) {
        put(s, line, answer);
    } else if (strcmp(command, "get") == 0) {
        get(s, line, answer);
    } else if (strcmp(command, "get_universe_size") == 0) {
        strbuf_printf(answer, "cmd=universe_size size=%u\n", s->size);
    } else if (strcmp(command, "barrier_in") == 0) {
        return enter_barrier(s, client);
    } else if (strcmp(command, "finalize") == 0) {
        s->clients[client] = CLIENT_FINALIZED;
        strbuf_add_text(answer, "cmd=finalize_ack\n");
        return is_barrier_full(s) ? PMI_BARRIER : PMI_GO_ON;
    } else if (strcmp(command, "abort") == 0) {
        return abort_all(s, line);
    } else if (!answer_constant(command, answer)) {
        return PMI_BROKEN;
    }
    return PMI_GO_ON;
}

enum pmi_outcome
pmi_server_take(struct pmi_server *s, unsigned client, const char *line, size_t length,
                struct strbuf *answer)
{
    CLEANUP_FREE char *text = xstrndup(line, length);
    char command[32];

    if (client >= s->n_clients || s->clients[client] == CLIENT_ENDED || strlen(text) != length)
        return PMI_BROKEN;
    if (!find_value(text, "cmd", command, sizeof(command)))
        return take_word(text, answer);
    return take_command(s, client, command, text, answer);
}

bool
pmi_server_leave(struct pmi_server *s, unsigned client, struct strbuf *answer)
{
    if (s->clients[client] != CLIENT_WAITING)
        return false;
    s->clients[client] = CLIENT_RUNNING;
    strbuf_add_text(answer, "cmd=barrier_out\n");
    return true;
}

/* --- ends ------------------------------------------------------------------------
 */

bool
pmi_server_end(struct pmi_server *s, unsigned client)
{
    const enum client_state state = s->clients[client];
    bool others_use_it = false, others_wait = false;

    if (state == CLIENT_ENDED || state == CLIENT_FINALIZED)
        return false;
    s->clients[client] = CLIENT_ENDED;
    for (unsigned i = 0; i < s->n_clients; i++) {
        others_use_it |= s->clients[i] == CLIENT_RUNNING || s->clients[i] == CLIENT_WAITING;
        others_wait |= s->clients[i] == CLIENT_WAITING;
    }
    if (state == CLIENT_RUNNING || state == CLIENT_WAITING)
        return others_use_it || s->n_nodes > 1;
    return others_wait;
}

/* --- several nodes -----------------------------------------------------------------
 */

void
pmi_server_take_lines(struct pmi_server *s, struct strbuf *out)
{
    strbuf_add(out, s->fresh.text, s->fresh.length);
    strbuf_truncate(&s->fresh, 0);
}

int
pmi_server_merge(struct pmi_server *s, const char *lines, size_t length)
{
    while (length > 0) {
        const char *newline = memchr(lines, '\n', length);
        const size_t n = newline != NULL ? (size_t)(newline - lines) : 0;
        CLEANUP_FREE char *line = xstrndup(lines, n);
        char *equal = strchr(line, '=');

        if (equal == NULL || equal - line > KEY_MOST || strlen(equal + 1) > VALUE_MOST)
            return -EBADMSG;
        *equal = '\0';
        if (!add_to_table(s, line, equal + 1))
            return -EBADMSG;
        lines += n + 1;
        length -= n + 1;
    }
    return 0;
}

unsigned
pmi_server_left(const struct pmi_server *s)
{
    unsigned i = 0;

    while (i < s->n_clients && s->clients[i] != CLIENT_ENDED)
        i++;
    return i;
}

int
pmi_server_code(const struct pmi_server *s)
{
    return s->code;
}
