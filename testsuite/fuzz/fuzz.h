/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what libFuzzer calls, again and again */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
