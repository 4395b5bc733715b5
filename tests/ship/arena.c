/* A call that takes its memory from an arena asks the system for none: see ship.sh. What allocates
 * is counted by functions of the program, which stand in for those of the C library. */
#define _GNU_SOURCE
#include "times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COUNT = 100000, LARGE = 16 << 10 }; /* lists of a few steps and pointers are no arrays */
static volatile int counting, large;

static void note(size_t bytes) {
  if (counting && bytes >= LARGE) ++large;
}
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes) { return note(bytes), __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return note(count * bytes), __libc_calloc(count, bytes); }
void *realloc(void *memory, size_t bytes) { return note(bytes), __libc_realloc(memory, bytes); }
void *memalign(size_t alignment, size_t bytes) { return note(bytes), __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return note(bytes), __libc_memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  note(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == NULL;
}
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  note(bytes);
  return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset); /* NOLINT */
}

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, bl_latest_error()->text);
  exit(1);
}

static double u0[COUNT], wanted[COUNT], y[COUNT];

int main(void) {
  size_t bytes = 0, untouched = 0;
  unsigned char *arena;
  for (int i = 0; i < COUNT; ++i) u0[i] = i % 17;
  check(times_prepare(times_u0_of(NULL, COUNT)) == BL_OK, "prepare");
  counting = 1;
  check(times_run(times_u0_of(u0, COUNT), times_y_of(wanted, COUNT)) == BL_OK, "a call with memory of its own");
  counting = 0;
  check(large > 0, "what it asks for is counted");

  check(times_workspace(times_u0_of(u0, COUNT), times_y_of(y, COUNT), &bytes) == BL_OK, "workspace");
  check(bytes > COUNT * sizeof(double), "rows of the let");
  arena = malloc(bytes);
  check(arena != NULL, "an arena");
  memset(arena, 0xa5, bytes);
  large = 0, counting = 1;
  check(times_run_in(times_u0_of(u0, COUNT), times_y_of(y, COUNT), arena, bytes) == BL_OK, "a call in an arena");
  counting = 0;
  check(large == 0, "it asks for no memory");
  for (size_t k = 0; k < bytes; ++k) untouched += arena[k] == 0xa5;
  check(untouched < bytes / 2, "its arrays lie in the arena");
  check(memcmp(y, wanted, sizeof y) == 0, "it computes the same");

  memset(y, 0, sizeof y);
  check(times_run_in(times_u0_of(u0, COUNT), times_y_of(y, COUNT), arena, bytes / 2) == BL_DATA_ERROR, "too small");
  check(strcmp(bl_latest_error()->code, "E0323") == 0, "its code");
  for (int i = 0; i < COUNT; ++i) check(y[i] == 0, "nothing is written");
  puts("all is well");
  return 0;
}
