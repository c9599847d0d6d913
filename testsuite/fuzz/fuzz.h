/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - the function that libFuzzer calls for each input */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
