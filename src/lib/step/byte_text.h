/* SPDX-License-Identifier: Apache-2.0 */
/* byte_text.h - any bytes without NUL as UTF-8, and back
 *
 * Names of files, arguments and variables need not be UTF-8, but strings in JSON
 * must be. Each byte B that belongs to no valid character becomes the private
 * character U+10F700 + B; a text that has such a character of its own has its four
 * bytes replaced in the same way, so every text comes back as it was.
 *
 * Thread:  any.
 */
#pragma once

struct arena;

/* Both return `text` itself if there is nothing to change; else the arena's. */
const char *byte_text_encode(struct arena *arena, const char *text);
const char *byte_text_decode(struct arena *arena, const char *text);
