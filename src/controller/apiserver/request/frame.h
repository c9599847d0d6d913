/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - bytes ready to be sent, to one client or to thousands, without
 * copies
 *
 * A frame holds text of its own and slices of objects' texts, in order. It is
 * built first and sent after that; each piece that is being sent holds a
 * reference until its bytes have left.
 *
 * Owns:    its text, and a reference to every object it shows.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/auth/digest.h"
#include "lib/base/macro.h"
#include "lib/http/http.h"

struct frame;
struct frame_pool;
struct object;
struct strbuf;

/* Life */
void frame_unref(struct frame *frame);
struct frame *frame_ref(struct frame *frame);
struct frame *frame_new(void) OWNED_BY(frame_unref);
DEFINE_CLEANUP(struct frame, frame_unref)

/* A pool keeps the memory of its freed frames for the next ones. A new frame of
 * some 2 KB each time would make malloc search the chunks that were freed since
 * its last search. Frames may outlive their pool.
 */
void frame_pool_free(struct frame_pool *pool);
struct frame_pool *frame_pool_new(void) OWNED_BY(frame_pool_free);
struct frame *frame_pool_take(struct frame_pool *pool) OWNED_BY(frame_unref);

/* Build. A slice points into the object's own text. frame_reserve makes room
 * for that many bytes more. frame_flatten copies all parts into one run: for a
 * frame that is sent to many clients this is cheaper than sending its parts to
 * each.
 */
void frame_add(struct frame *frame, const char *text);
void frame_add_bytes(struct frame *frame, const void *bytes, size_t length);
void frame_printf(struct frame *frame, const char *format, ...) PRINTF(2, 3);
void frame_add_slice(struct frame *frame, const struct object *object, const char *from,
                     size_t length);
void frame_reserve(struct frame *frame, size_t bytes);
void frame_flatten(struct frame *frame);
void frame_add_frame(struct frame *frame, const struct frame *other);

/* The digest is computed once. A frame is shared when somebody else holds
 * a reference, too.
 */
bool frame_is_shared(const struct frame *frame);
size_t frame_length(const struct frame *frame);
const struct digest *frame_digest(struct frame *frame);
void frame_add_to_sum(const struct frame *frame, struct digest_sum *sum);
void frame_copy(const struct frame *frame, struct strbuf *out);

/* Send. Fills in as many pieces as frame_count_pieces says. Each holds a
 * reference that its release function drops.
 */
size_t frame_count_pieces(const struct frame *frame);
void frame_take_pieces(struct frame *frame, struct http_piece *ret_pieces);
