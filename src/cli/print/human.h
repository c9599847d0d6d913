/* SPDX-License-Identifier: Apache-2.0 */
/* human.h - lengths of time and amounts of memory in a few characters
 *
 * Source: k8s.io/apimachinery/pkg/util/duration, HumanDuration.
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#define HUMAN_TEXT_SIZE 32

/* "45s", "3m5s", "3h10m", "12d", "2y30d"; "<invalid>" for a negative time of
 * more than a second.
 */
void human_duration(int64_t us, char out[HUMAN_TEXT_SIZE]);

/* "512B", "1.5Gi", "64Gi" */
void human_bytes(int64_t bytes, char out[HUMAN_TEXT_SIZE]);
