/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a binary heap of borrowed pointers, with the least element on top
 *
 * Each element stores its own index in a size_t of its struct, at the offset
 * given to heap_new, so that removal and re-ordering cost O(log n).
 * HEAP_NOWHERE in that field says that the element is in no heap.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define HEAP_NOWHERE SIZE_MAX

struct heap;
typedef bool (*heap_less_fn)(const void *a, const void *b, void *context);

/* Life */
void heap_free(struct heap *h);
struct heap *heap_new(heap_less_fn less, void *context, size_t place_offset) OWNED_BY(heap_free);
DEFINE_CLEANUP(struct heap, heap_free)

/* Call heap_moved after the key of an element has changed. */
void heap_push(struct heap *h, void *element);
void *heap_pop(struct heap *h);
void heap_remove(struct heap *h, void *element);
void heap_moved(struct heap *h, void *element);

/* heap_at takes any index below the count; only index 0 is in order. */
void *heap_top(const struct heap *h);
size_t heap_count(const struct heap *h);
void *heap_at(const struct heap *h, size_t index);
