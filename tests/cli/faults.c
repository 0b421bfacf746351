/* Fails the k-th call of one kind, counted from `fault_arm`: a full disk, a lost disk, no memory.
   Processes and threads fail from the k-th on, as at a limit of the system. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { NONE, WRITE, FSYNC, RENAME, FORK, THREAD, MEMORY };
enum { LARGE = 1 << 20 }; /* bytes from which an allocation may fail */

static atomic_int kind = NONE;
static atomic_int left = 0; /* calls until the one that fails */
static atomic_int failed = 0;

void fault_arm(int which, int k) {
  atomic_store(&failed, 0);
  atomic_store(&left, k);
  atomic_store(&kind, which);
}

int fault_disarm(void) {
  atomic_store(&kind, NONE);
  return atomic_load(&failed);
}

static int fails(enum kind which, int error) {
  if (atomic_load(&kind) != (int)which) return 0;
  int calls = atomic_fetch_sub(&left, 1);
  if (calls > 1 || (calls < 1 && which != FORK && which != THREAD)) return 0;
  atomic_store(&failed, 1);
  errno = error;
  return 1;
}

static int is_file(int descriptor) {
  struct stat about;
  return atomic_load(&kind) == WRITE && fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void *bytes, size_t size) {
  if (is_file(descriptor) && fails(WRITE, ENOSPC)) return -1;
  return REAL(write)(descriptor, bytes, size);
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
  if (is_file(fileno(file)) && fails(WRITE, ENOSPC)) return 0;
  return REAL(fwrite)(bytes, size, count, file);
}

int fsync(int descriptor) { return fails(FSYNC, EIO) ? -1 : REAL(fsync)(descriptor); }

int rename(const char *from, const char *to) {
  return fails(RENAME, EIO) ? -1 : REAL(rename)(from, to);
}

int renameat(int one, const char *from, int other, const char *to) {
  return fails(RENAME, EIO) ? -1 : REAL(renameat)(one, from, other, to);
}

pid_t fork(void) { return fails(FORK, EAGAIN) ? -1 : REAL(fork)(); }

pid_t vfork(void) { return fork(); }

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
  return fails(THREAD, EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, how, run, with);
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  return size > LARGE && fails(MEMORY, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return count * size > LARGE && fails(MEMORY, ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return size > LARGE && fails(MEMORY, ENOMEM) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return size > LARGE && fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size) {
  if (size > LARGE && fails(MEMORY, ENOMEM)) return ENOMEM;
  *place = __libc_memalign(alignment, size);
  return *place == NULL ? ENOMEM : 0;
}
