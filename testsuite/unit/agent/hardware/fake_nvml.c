/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - a libnvidia-ml.so.1 with two GPUs, for tests
 *
 * The first one is /dev/nvidia1. GPU N is 25 + 50 * N percent busy and has
 * (N + 1) GiB in use. With FAKE_NVML_BLOCKS in the environment, a GPU never
 * answers.
 *
 * Thread: any.
 */
#include <stdlib.h>
#include <unistd.h>

static int numbers[] = {1, 0};

int
nvmlInit_v2(void)
{
    return 0;
}

int
nvmlShutdown(void)
{
    return 0;
}

int
nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int
nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &numbers[index];
    return 0;
}

int
nvmlDeviceGetMinorNumber(void *device, unsigned *minor)
{
    *minor = (unsigned)*(int *)device;
    return 0;
}

int
nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
    while (getenv("FAKE_NVML_BLOCKS") != NULL)
        pause();
    rates[0] = 25 + 50 * (unsigned)*(int *)device;
    rates[1] = 1;
    return 0;
}

int
nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    memory[0] = 80ull << 30;
    memory[2] = (unsigned long long)(*(int *)device + 1) << 30;
    memory[1] = memory[0] - memory[2];
    return 0;
}
