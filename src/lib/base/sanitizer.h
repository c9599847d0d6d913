/* SPDX-License-Identifier: Apache-2.0 */
/* sanitizer.h - whether this build uses a sanitizer (address or thread)
 *
 * Such a build disables code that would hide memory errors from the sanitizer,
 * and its timings are not comparable.
 *
 * Thread:  any.
 */
#pragma once

#ifndef __has_feature /* clang has this, but not gcc's macros */
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
