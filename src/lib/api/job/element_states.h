/* SPDX-License-Identifier: Apache-2.0 */
/* element_states.h - the states of an array's elements, by their index, in the
 * form that the store keeps: 1,024 elements in one short text
 *
 * An element waits, has a pod, or is finished: done, failed or cancelled. An
 * element that waits or has a pod is ELEMENT_WAITING here; the pod itself tells
 * them apart. The tries of an element are stored only if they do not follow
 * from its state: it failed and is to be tried again, or was cancelled after it
 * had started.
 *
 * The text begins with the version of its form: "1:", or "2:" if some elements
 * were interrupted, which is a fourth number of the tries. A later version is
 * refused, so that a release that does not understand it runs nothing twice.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

#define ELEMENTS_A_CHUNK 1024

enum element_state {
    ELEMENT_WAITING,
    ELEMENT_DONE,
    ELEMENT_FAILED,
    ELEMENT_CANCELLED,
};

/* `attempt` is the number of the element's next pod. */
struct element_tries {
    int64_t index;
    int64_t attempt;
    int64_t failures;    /* failures that count against it */
    int64_t ignored;     /* failures that do not count */
    int64_t interrupted; /* pods that ended through no fault of the job since
                          * the element was submitted, requeued or last held
                          * for that; 0 if their number has no maximum */
};

struct element_chunk {
    uint8_t states[ELEMENTS_A_CHUNK];
    struct element_tries *tries; /* ascending */
    size_t n_tries, room;
};

/* Life. Zeroed is valid: all elements wait and were never tried. */
void element_chunk_fini(struct element_chunk *chunk);

/* Text. `first` is the index of the chunk's first element. False: the text is
 * malformed or of a later version; the chunk is then empty.
 */
bool element_chunk_parse(struct element_chunk *chunk, int64_t first, const char *text);
void element_chunk_format(const struct element_chunk *chunk, int64_t first, struct strbuf *out);

/* Tries of an index. NULL: there are none. Setting attempt, failures and
 * ignored to 0 removes the entry.
 */
const struct element_tries *element_chunk_tries(const struct element_chunk *chunk, int64_t index);
void element_chunk_set_tries(struct element_chunk *chunk, const struct element_tries *tries);
