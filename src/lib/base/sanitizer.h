/* SPDX-License-Identifier: Apache-2.0 */
/* sanitizer.h - whether this is built with one
 *
 * Address or thread: what would hide from it what happens to memory is then
 * left out, and times are the sanitizer's.
 *
 * Thread:  any.
 */
#pragma once

#ifndef __has_feature /* clang has it, and not gcc's names */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) \
    || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define IS_THREAD_SANITIZED 1
#else
#define IS_THREAD_SANITIZED 0
#endif
