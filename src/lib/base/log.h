/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - log messages of a daemon for its administrator
 *
 * Only the room that makes a decision logs it, once; lib/ logs at debug level
 * only. A message is a sentence with quoted names; a warning after which the
 * program continues ends in ("..., ignoring"). Lines go to standard error: with
 * a time for a person, or with the journal's <N> prefix under systemd
 * (JOURNAL_STREAM is set).
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
};

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* While the calling thread is muted, it logs nothing: what it does was done
 * before, and logged then. Returns whether it was muted.
 */
bool log_mute(bool is_muted);

/* `file` is the path below src/, from which the room's name is derived. */
void log_write(enum log_level level, const char *file, const char *format, ...) PRINTF(3, 4);

/* The program itself is at fault, in a way after which it can go on. The message is an
 * error, and begins with a literal; with KILN_ABORT_ON_FAULT in the environment, as in
 * tests, the process ends.
 */
void log_abort_in_tests(void);

#define log_fault(...) \
    (log_error("a fault of the program, please report it: " __VA_ARGS__), log_abort_in_tests())
#define log_error(...)   log_write(LOG_LEVEL_ERROR, __FILE__, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __FILE__, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __FILE__, __VA_ARGS__)
#define log_debug(...)                     \
    ((void)(log_level() >= LOG_LEVEL_DEBUG \
            && (log_write(LOG_LEVEL_DEBUG, __FILE__, __VA_ARGS__), 1)))
