/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/line.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

/* One thing that is told. */
struct news {
    loop_fn fn;
    loop_fn abandoned;
    void *arg;
};

struct line {
    atomic_uint references;
    pthread_mutex_t lock;     /* for what both threads touch: */
    struct loop *loop;        /* the client's; NULL: nobody is there */
    struct loop *server_loop; /* the API's thread, as is what follows */
    struct news *news;
    size_t count, capacity;
};

/* On its way from one to the other. */
struct bundle {
    struct news *news;
    size_t count;
};

void
line_unref(struct line *line)
{
    if (line == NULL || atomic_fetch_sub(&line->references, 1) > 1)
        return;
    pthread_mutex_destroy(&line->lock);
    free(line->news);
    free(line);
}

struct line *
line_ref(struct line *line)
{
    atomic_fetch_add(&line->references, 1);
    return line;
}

struct line *
line_open(struct loop *server_loop, struct loop *client_loop)
{
    struct line *line = xnew(struct line);

    atomic_init(&line->references, 1);
    pthread_mutex_init(&line->lock, NULL);
    line->loop = client_loop;
    line->server_loop = server_loop;
    return line;
}

void
line_close(struct line *line)
{
    pthread_mutex_lock(&line->lock);
    line->loop = NULL;
    pthread_mutex_unlock(&line->lock);
    line_unref(line);
}

static void
bundle_free(struct bundle *bundle)
{
    free(bundle->news);
    free(bundle);
}

/* On the client's thread. */
static void
tell_all(void *arg)
{
    struct bundle *bundle = arg;

    for (size_t i = 0; i < bundle->count; i++)
        bundle->news[i].fn(bundle->news[i].arg);
    bundle_free(bundle);
}

static void
abandon_all(struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->count; i++)
        bundle->news[i].abandoned(bundle->news[i].arg);
    bundle_free(bundle);
}

static void
end_turn(void *arg)
{
    struct line *line = arg;
    struct bundle *bundle = xnew(struct bundle);
    bool is_open;

    *bundle = (struct bundle){line->news, line->count};
    line->news = NULL;
    line->count = line->capacity = 0;
    pthread_mutex_lock(&line->lock);
    is_open = line->loop != NULL;
    if (is_open)
        loop_post(line->loop, tell_all, bundle);
    pthread_mutex_unlock(&line->lock);
    if (!is_open)
        abandon_all(bundle);
    line_unref(line);
}

void
line_tell(struct line *line, loop_fn fn, loop_fn abandoned, void *arg)
{
    if (line->count == 0)
        loop_defer(line->server_loop, end_turn, line_ref(line));
    xgrow(line->news, line->count, line->capacity);
    line->news[line->count++] = (struct news){fn, abandoned, arg};
}
