/* A device that every machine has: see fake.c. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the device did since the process started. */
typedef struct fake_counts_t {
  /* Allocations, and those of them that were not freed. */
  int64_t allocations, alive;
  /* Bytes that are not freed. */
  int64_t bytes;
  /* Copies, by direction. */
  int64_t to_device, to_host, on_device;
  int64_t synchronized;
  /* Memory that was freed twice, or is not the device's. */
  int64_t bad_frees;
  /* Runs of the backend, and its handles that are alive. */
  int64_t runs, handles;
} fake_counts_t;

void fake_counts(fake_counts_t *counts);

/* Lets the allocation, or copy, after `skipped` more fail; -1 for none. */
void fake_fail_allocation(int skipped);
void fake_fail_copy(int skipped);

/* Bytes of the device's memory where the host may read and write them; null if they are not the device's. */
void *fake_shadow(const void *data, size_t size, int index);

#ifdef __cplusplus
}
#endif

#endif
