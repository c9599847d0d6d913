/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/quota/quota_line.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/random.h"

/* The least of two resources may be that of two Jobs, and then a subtree is
 * searched in vain. So many places are looked at in one search at most.
 */
#define MOST_VISITS 20000u

/* A treap: ordered by place from left to right, and by weight from the top. */
struct quota_line {
    struct quota_place *root;
    struct random_source random;
};

struct quota_line *
quota_line_new(void)
{
    struct quota_line *line = xnew(struct quota_line);

    random_bytes(&line->random, sizeof(line->random));
    return line;
}

void
quota_line_free(struct quota_line *line)
{
    free(line);
}

static bool
is_before(const struct quota_place *a, const struct quota_place *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->eligible_at_us != b->eligible_at_us)
        return a->eligible_at_us < b->eligible_at_us;
    if (a->job_id != b->job_id)
        return a->job_id < b->job_id;
    return strcmp(a->key, b->key) < 0;
}

static size_t
size_of(const struct quota_place *p)
{
    return p != NULL ? p->size : 0;
}

static void
take_least(struct quota_place *p, const struct quota_place *child)
{
    for (unsigned i = 0; child != NULL && i < QUOTA_LINE_RESOURCES; i++)
        if (child->least[i] < p->least[i])
            p->least[i] = child->least[i];
}

static void
sum_up(struct quota_place *p)
{
    p->size = 1 + size_of(p->left) + size_of(p->right);
    memcpy(p->least, p->needs, sizeof(p->least));
    take_least(p, p->left);
    take_least(p, p->right);
}

/* Divides a tree into the places before `at` and the others. */
static void
split(struct quota_place *p, const struct quota_place *at, struct quota_place **ret_before,
      struct quota_place **ret_after)
{
    if (p == NULL) {
        *ret_before = *ret_after = NULL;
    } else if (is_before(p, at)) {
        split(p->right, at, &p->right, ret_after);
        *ret_before = p;
        sum_up(p);
    } else {
        split(p->left, at, ret_before, &p->left);
        *ret_after = p;
        sum_up(p);
    }
}

static struct quota_place *
merge(struct quota_place *before, struct quota_place *after)
{
    if (before == NULL || after == NULL)
        return before != NULL ? before : after;
    if (before->weight > after->weight) {
        before->right = merge(before->right, after);
        sum_up(before);
        return before;
    }
    after->left = merge(before, after->left);
    sum_up(after);
    return after;
}

void
quota_line_add(struct quota_line *line, struct quota_place *place)
{
    struct quota_place *before, *after;

    place->left = place->right = NULL;
    place->weight = random_next(&line->random);
    sum_up(place);
    split(line->root, place, &before, &after);
    line->root = merge(merge(before, place), after);
}

static struct quota_place *
without(struct quota_place *p, const struct quota_place *place)
{
    if (p == NULL)
        return NULL;
    if (p == place)
        return merge(p->left, p->right);
    if (is_before(place, p))
        p->left = without(p->left, place);
    else
        p->right = without(p->right, place);
    sum_up(p);
    return p;
}

void
quota_line_remove(struct quota_line *line, struct quota_place *place)
{
    line->root = without(line->root, place);
}

size_t
quota_line_count(const struct quota_line *line)
{
    return size_of(line->root);
}

static bool
fits(const int64_t needs[QUOTA_LINE_RESOURCES], const int64_t room[QUOTA_LINE_RESOURCES])
{
    for (unsigned i = 0; i < QUOTA_LINE_RESOURCES; i++)
        if (needs[i] > 0 && needs[i] > room[i])
            return false;
    return true;
}

static struct quota_place *
find_first(struct quota_place *p, const int64_t room[QUOTA_LINE_RESOURCES], unsigned *visits)
{
    struct quota_place *found;

    if (p == NULL || !fits(p->least, room) || ++*visits > MOST_VISITS)
        return NULL;
    found = find_first(p->left, room, visits);
    if (found != NULL)
        return found;
    if (fits(p->needs, room))
        return p;
    return find_first(p->right, room, visits);
}

struct quota_place *
quota_line_find_first(const struct quota_line *line, const int64_t room[QUOTA_LINE_RESOURCES])
{
    unsigned visits = 0;

    return find_first(line->root, room, &visits);
}

size_t
quota_line_rank(const struct quota_line *line, const struct quota_place *place)
{
    size_t before = 0;

    for (const struct quota_place *p = line->root; p != NULL;)
        if (is_before(p, place)) {
            before += 1 + size_of(p->left);
            p = p->right;
        } else {
            p = p->left;
        }
    return before;
}
