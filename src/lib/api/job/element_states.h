/* SPDX-License-Identifier: Apache-2.0 */
/* element_states.h - what became of the elements of an array, by their index,
 * as the store keeps it: 1,024 of them in one short text
 *
 * An element waits, has a pod, or is settled: it is done, has failed or was
 * cancelled. One that waits or has a pod is WAITING here; that it has a pod is
 * known from the pod. The tries of an element are noted where they do not
 * follow from that: it failed and is to be tried again, or was cancelled after
 * it had started.
 *
 * The text begins with the version of this form: "1:", or "2:" where some were
 * interrupted, which the tries have in a fourth number. A later one is refused,
 * so that nothing is run twice by a release that does not understand it.
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

/* The next pod of an element has the number `attempt`. */
struct element_tries {
    int64_t index;
    int64_t attempt;
    int64_t failures;    /* that count against it */
    int64_t ignored;     /* and those that do not */
    int64_t interrupted; /* pods that ended for no fault of the job's, since the
                          * element was submitted, requeued or last held for
                          * that; 0 where there is no maximum of them */
};

struct element_chunk {
    uint8_t states[ELEMENTS_A_CHUNK];
    struct element_tries *tries; /* ascending */
    size_t n_tries, room;
};

/* Life. Zeroed is empty: all wait, and were never tried. */
void element_chunk_fini(struct element_chunk *chunk);

/* Text. `first` is the index of the chunk's first element. False: it is no such
 * text, or of a later release; the chunk is empty then.
 */
bool element_chunk_parse(struct element_chunk *chunk,
                         int64_t first,
                         const char *text);
void element_chunk_format(const struct element_chunk *chunk,
                          int64_t first,
                          struct strbuf *out);

/* Tries of a given index: NULL, or where all is 0 the entry goes. */
const struct element_tries *
element_chunk_tries(const struct element_chunk *chunk, int64_t index);
void element_chunk_set_tries(struct element_chunk *chunk,
                             const struct element_tries *tries);
