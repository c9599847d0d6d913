/* SPDX-License-Identifier: Apache-2.0 */
/* Several programs use one set of grants: kctl, the krun that it starts, and threads of both.
 * Each grant is good for one connection, so the file itself, and not anybody's memory, says
 * which are used. It has no name, because it contains a secret key.
 */
#include "cli/krun/krun_grants.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/auth/exec_grant.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* The first line has the secret key. Then comes a line for each grant: whether it is unused, its
 * node, the node's key and the grant.
 */
#define HEAD       "kiln-grants 1 "
#define NOT_USED   '+'
#define USED       '-'
#define BYTES_MOST ((size_t)64 << 20)

_Static_assert(KRUN_GRANTS_KEY_SIZE == DIGEST_HEX_SIZE, "a public key is written as a digest is");

struct kept_grant {
    off_t at;   /* of its line in the file */
    char *line; /* holds the texts */
    const char *node, *node_key, *word;
    bool is_used;
};

struct krun_grants {
    pthread_mutex_t lock; /* connections are opened by several threads */
    int fd;
    off_t end; /* of the file */
    struct digest secret;
    struct kept_grant *items;
    size_t count, room;
};

void
krun_grants_free(struct krun_grants *g)
{
    if (g == NULL)
        return;
    close(g->fd);
    for (size_t i = 0; i < g->count; i++)
        free(g->items[i].line);
    free(g->items);
    explicit_bzero(&g->secret, sizeof(g->secret));
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static struct krun_grants *
grants_new(int fd)
{
    struct krun_grants *g = xnew(struct krun_grants);

    g->fd = fd;
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

/* ---- Lines ---- */

/* Ends the next word with a NUL and returns it; NULL if nothing follows it. */
static char *
cut_word(char **at)
{
    char *word = *at, *stop = strchr(word, ' ');

    if (stop == NULL)
        return NULL;
    *stop = '\0';
    *at = stop + 1;
    return word;
}

/* A line without its newline, which is at that place of the file. */
static int
add_line(struct krun_grants *g, const char *line, size_t length, off_t at)
{
    struct kept_grant grant = {.at = at, .line = xstrndup(line, length)};
    char *rest = grant.line + (length > 0);

    grant.is_used = grant.line[0] == USED;
    grant.node = cut_word(&rest);
    grant.node_key = grant.node != NULL ? cut_word(&rest) : NULL;
    grant.word = rest;
    if ((!grant.is_used && grant.line[0] != NOT_USED) || grant.node_key == NULL
        || strchr(rest, ' ') != NULL) {
        free(grant.line);
        return -EINVAL;
    }
    if (g->count == g->room) {
        g->room = g->room > 0 ? 2 * g->room : 16;
        g->items = xrealloc_array(g->items, g->room, sizeof(*g->items));
    }
    g->items[g->count++] = grant;
    return 0;
}

static int
append(struct krun_grants *g, const struct strbuf *line, struct error *err)
{
    int r = fd_write_all(g->fd, line->text, line->length);

    if (r < 0)
        return error_set(err, r, "grants cannot be kept: %s", strerror(-r));
    g->end += (off_t)line->length;
    return 0;
}

/* ---- Life ---- */

int
krun_grants_make(struct krun_grants **ret_grants, char ret_key[KRUN_GRANTS_KEY_SIZE],
                 struct error *err)
{
    CLEANUP(krun_grants_freep) struct krun_grants *g = NULL;
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    char hex[DIGEST_HEX_SIZE];
    int fd = memfd_create("grants", MFD_CLOEXEC);
    int r;

    if (fd < 0)
        return error_set(err, -errno, "memfd_create: %s", strerror(errno));
    g = grants_new(fd);
    exec_call_make_key(g->secret.bytes, ret_key);
    digest_format(&g->secret, hex);
    strbuf_printf(&line, HEAD "%s\n", hex);
    r = append(g, &line, err);
    explicit_bzero(line.text, line.length);
    explicit_bzero(hex, sizeof(hex));
    if (r < 0)
        return r;
    *ret_grants = g;
    g = NULL;
    return 0;
}

static int
read_all(int fd, struct strbuf *out)
{
    struct stat is;

    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fstat(fd, &is) < 0 || !S_ISREG(is.st_mode)
        || is.st_size <= 0 || (size_t)is.st_size > BYTES_MOST)
        return -EINVAL;
    strbuf_reserve(out, (size_t)is.st_size);
    if (pread(fd, out->text, (size_t)is.st_size, 0) != (ssize_t)is.st_size)
        return -EINVAL;
    out->length = (size_t)is.st_size;
    out->text[out->length] = '\0';
    return strlen(out->text) == out->length ? 0 : -EINVAL;
}

static int
parse(struct krun_grants *g, const struct strbuf *text)
{
    const size_t length = strlen(HEAD) + DIGEST_HEX_SIZE - 1;
    char hex[DIGEST_HEX_SIZE] = "";
    int r = -EINVAL;

    if (text->length > length && strncmp(text->text, HEAD, strlen(HEAD)) == 0
        && text->text[length] == '\n') {
        memcpy(hex, text->text + strlen(HEAD), DIGEST_HEX_SIZE - 1);
        r = digest_parse(hex, &g->secret);
        explicit_bzero(hex, sizeof(hex));
    }
    for (size_t at = length + 1; r == 0 && at < text->length;) {
        const char *line = text->text + at, *end = strchr(line, '\n');

        if (end == NULL)
            return -EINVAL;
        r = add_line(g, line, (size_t)(end - line), (off_t)at);
        at += (size_t)(end - line) + 1;
    }
    g->end = (off_t)text->length;
    return r;
}

int
krun_grants_open(int fd, struct krun_grants **ret_grants, struct error *err)
{
    CLEANUP(krun_grants_freep) struct krun_grants *g = grants_new(fd);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = read_all(fd, &text);

    if (r == 0)
        r = parse(g, &text);
    if (text.text != NULL)
        explicit_bzero(text.text, text.length);
    if (r < 0)
        return error_set(err, -EINVAL, "descriptor %d has no grants of a controller", fd);
    *ret_grants = g;
    g = NULL;
    return 0;
}

int
krun_grants_share(const struct krun_grants *g, struct error *err)
{
    int fd = fcntl(g->fd, F_DUPFD, 3);

    return fd >= 0 ? fd : error_set(err, -errno, "fcntl: %s", strerror(errno));
}

/* ---- Use ---- */

int
krun_grants_add(struct krun_grants *g, const char *node, const char *node_key, const char *word,
                struct error *err)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    const off_t at = g->end;
    int r;

    strbuf_printf(&line, "%c%s %s %s", NOT_USED, node, node_key, word);
    if (strchr(line.text, '\n') != NULL || add_line(g, line.text, line.length, at) < 0)
        return error_set(err, -EBADMSG, "the controller's grant is not understood");
    strbuf_add_char(&line, '\n');
    r = append(g, &line, err);
    if (r < 0)
        g->items[g->count - 1].is_used = true;
    return r;
}

static struct kept_grant *
find(struct krun_grants *g, const char *node)
{
    for (size_t i = 0; i < g->count; i++)
        if (!g->items[i].is_used && strcmp(g->items[i].node, node) == 0)
            return &g->items[i];
    return NULL;
}

int
krun_grants_take(struct krun_grants *g, const char *node, struct exec_call *ret_call,
                 struct error *err)
{
    static const char used = USED;
    struct kept_grant *grant;
    int r = 0;

    pthread_mutex_lock(&g->lock);
    grant = find(g, node);
    if (grant == NULL)
        r = error_set(err, -ENOENT,
                      "no grant of the controller for node '%s' is left; each is for one "
                      "connection",
                      node);
    else if (pwrite(g->fd, &used, 1, grant->at) != 1)
        r = error_set(err, -EIO, "grants cannot be kept: %s", strerror(errno));
    if (r == 0) {
        grant->is_used = true;
        *ret_call = (struct exec_call){
            .grant = grant->word, .node = grant->node, .node_key = grant->node_key};
        memcpy(ret_call->secret, g->secret.bytes, sizeof(ret_call->secret));
    }
    pthread_mutex_unlock(&g->lock);
    return r;
}
