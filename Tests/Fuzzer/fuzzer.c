#include <stddef.h>
#include <stdint.h>

/* Tests/FuzzTargets/FuzzEntry.swift. ACLFS_FUZZ names the parser; `Scripts/fuzz` builds and runs this. */
int32_t aclfs_fuzz_one(const uint8_t *bytes, size_t count);

/* libFuzzer, which has the main, calls it with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  return aclfs_fuzz_one(bytes, count);
}
