/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - a doubly linked list whose links are members of the elements
 *
 * A `struct list` is a head or a link. An unlinked link points at itself, so
 * removing it twice is harmless.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct list {
    struct list *next;
    struct list *prev;
};

static inline void
list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool
list_is_empty(const struct list *l)
{
    return l->next == l;
}

static inline void
list_remove(struct list *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    list_init(l);
}

static inline void
list_add_last(struct list *head, struct list *l)
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

static inline void
list_add_first(struct list *head, struct list *l)
{
    list_add_last(head->next, l);
}

/* Moves all elements of `from`, in order, to `head`, which need not be
 * initialized.
 */
static inline void
list_take_over(struct list *head, struct list *from)
{
    *head = *from;
    head->next->prev = head;
    head->prev->next = head;
    list_init(from);
    if (head->next == from)
        list_init(head);
}

#define list_foreach(pos, head) \
    for (struct list *pos = (head)->next; pos != (head); pos = pos->next)

/* The element at the current position may be removed. */
#define list_foreach_safe(pos, head)                                              \
    for (struct list *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
         pos = pos##_next, pos##_next = pos->next)
