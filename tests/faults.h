/*
  Allocations that fail. PETSc's allocator is replaced by one that counts, keeps a list of what has
  been allocated, and fails where it is told to:

    TestFaultsBegin()              once, at a time when memory of before may still be around
    TestFaultsArm(k, from, ours)   the k-th allocation from here on fails (from: and all that follow); ours: those of the library's own sources count, else all
    TestFaultsDisarm()             PETSC_TRUE if one has failed
    TestFaults.peak                the most bytes that there were at a time since TestFaultsMark()
    TestFaultsBlocks(what)         how many blocks are there; what: says where each was allocated that is newer than TestFaultsMark()
*/
#pragma once

#include <petscsys.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  void *p;
  size_t bytes;
  int line;
  const char *file;
  unsigned long number;
} TestBlock;

static struct {
  PetscErrorCode (*allocate)(size_t, PetscBool, int, const char[], const char[], void **);
  PetscErrorCode (*release)(void *, int, const char[], const char[]);
  PetscErrorCode (*resize)(size_t, int, const char[], const char[], void **);
  TestBlock *block; /* hash table, open addressing; of malloc() */
  size_t room, used, live;
  size_t bytes, peak; /* in these blocks; the most since TestFaultsMark() */
  unsigned long number, mark;
  PetscBool armed, from, ours, fired;
  long left;
  int line; /* of the allocation that has failed */
  const char *file;
} TestFaults;

static inline size_t TestBlockSlot(const void *p)
{
  size_t i = ((size_t)p >> 4) * 0x9e3779b97f4a7c15u % TestFaults.room;

  while (TestFaults.block[i].p && TestFaults.block[i].p != p) i = (i + 1) % TestFaults.room;
  return i;
}

static inline void TestBlockAdd(TestBlock b)
{
  if (2 * TestFaults.used >= TestFaults.room) {
    TestBlock *old = TestFaults.block;
    const size_t room = TestFaults.room;

    TestFaults.room = 4 * TestFaults.live + 4096;
    TestFaults.used = 0;
    TestFaults.block = (TestBlock *)calloc(TestFaults.room, sizeof(TestBlock));
    for (size_t i = 0; i < room; i++)
      if (old[i].p && old[i].number) {
        TestFaults.block[TestBlockSlot(old[i].p)] = old[i];
        TestFaults.used++;
      }
    free(old);
  }
  {
    const size_t i = TestBlockSlot(b.p);

    if (!TestFaults.block[i].p) TestFaults.used++;
    TestFaults.block[i] = b;
    TestFaults.live++;
    TestFaults.bytes += b.bytes;
    if (TestFaults.bytes > TestFaults.peak) TestFaults.peak = TestFaults.bytes;
  }
}

static inline void TestBlockRemove(const void *p)
{
  size_t i;

  if (!p || !TestFaults.room) return;
  i = TestBlockSlot(p);
  if (!TestFaults.block[i].p || !TestFaults.block[i].number) return; /* older than TestFaultsBegin() */
  TestFaults.bytes -= TestFaults.block[i].bytes;
  TestFaults.block[i].number = 0; /* gone, but others may lie behind it */
  TestFaults.live--;
}

/* a file of the library's */
static inline PetscBool TestFaultsOurs(const char file[])
{
  static const char *const folder[] = {"src/poisson/",    "src/operator/",  "src/tridiagonal/", "src/recurrence/",
                                       "src/compact/",    "src/transport/", "src/backend/",     "pc/options.c",
                                       "pc/shared.c",     "pc/bcrpoisson/", "pc/neato/",        "ksp/refine/",
                                       "ksp/bcrpoisson/", "ksp/neato/"};

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(folder); i++)
    if (strstr(file, folder[i])) return PETSC_TRUE;
  return PETSC_FALSE;
}

static inline PetscBool TestFaultsNow(int line, const char file[])
{
  if (!TestFaults.armed || (TestFaults.ours && !TestFaultsOurs(file))) return PETSC_FALSE;
  TestFaults.left--;
  if (TestFaults.left > 0 || (TestFaults.left < 0 && !TestFaults.from)) return PETSC_FALSE;
  if (!TestFaults.fired) {
    TestFaults.line = line;
    TestFaults.file = file;
  }
  TestFaults.fired = PETSC_TRUE;
  return PETSC_TRUE;
}

static PetscErrorCode TestFaultsAllocate(size_t bytes, PetscBool clear, int line, const char function[],
                                         const char file[], void **p)
{
  PetscErrorCode ierr;

  if (bytes && TestFaultsNow(line, file)) {
    *p = NULL;
    return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL,
                      "Allocation made to fail");
  }
  ierr = (*TestFaults.allocate)(bytes, clear, line, function, file, p);
  if (!ierr && *p) {
    const TestBlock b = {*p, bytes, line, file, ++TestFaults.number};

    TestBlockAdd(b);
  }
  return ierr;
}

static PetscErrorCode TestFaultsRelease(void *p, int line, const char function[], const char file[])
{
  TestBlockRemove(p);
  return (*TestFaults.release)(p, line, function, file);
}

static PetscErrorCode TestFaultsResize(size_t bytes, int line, const char function[], const char file[], void **p)
{
  PetscErrorCode ierr;

  if (bytes && TestFaultsNow(line, file))
    return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL,
                      "Allocation made to fail");
  TestBlockRemove(*p);
  ierr = (*TestFaults.resize)(bytes, line, function, file, p);
  if (!ierr && *p) {
    const TestBlock b = {*p, bytes, line, file, ++TestFaults.number};

    TestBlockAdd(b);
  }
  return ierr;
}

static inline void TestFaultsBegin(void)
{
  TestFaults.allocate = PetscTrMalloc;
  TestFaults.release = PetscTrFree;
  TestFaults.resize = PetscTrRealloc;
  PetscTrMalloc = TestFaultsAllocate;
  PetscTrFree = TestFaultsRelease;
  PetscTrRealloc = TestFaultsResize;
}

static inline void TestFaultsArm(long k, PetscBool from, PetscBool ours)
{
  TestFaults.left = k;
  TestFaults.from = from;
  TestFaults.ours = ours;
  TestFaults.fired = PETSC_FALSE;
  TestFaults.file = "";
  TestFaults.line = 0;
  TestFaults.armed = PETSC_TRUE;
}

static inline PetscBool TestFaultsDisarm(void)
{
  TestFaults.armed = PETSC_FALSE;
  return TestFaults.fired;
}

/* of a path the part from the folder in the sources on */
static inline const char *TestFaultsName(const char file[])
{
  const char *s = file;

  while (!strncmp(s, "../", 3) || !strncmp(s, "./", 2)) s = strchr(s, '/') + 1;
  return s;
}

static inline void TestFaultsMark(void)
{
  TestFaults.mark = TestFaults.number;
  TestFaults.peak = TestFaults.bytes;
}

static inline long TestFaultsBlocks(const char what[])
{
  long n = 0;

  for (size_t i = 0; i < TestFaults.room; i++) {
    const TestBlock *b = &TestFaults.block[i];

    if (!b->p || b->number <= TestFaults.mark) continue;
    n++;
    if (what) (void)printf("  %s: %zu bytes of %s:%d are left\n", what, b->bytes, TestFaultsName(b->file), b->line);
  }
  return n;
}
