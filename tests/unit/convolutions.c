/*
  Transforms of a CUDA device that are convolutions, against sums of the eigenvectors as src/base/modes.h writes them down
  (angles by integers, in long double): across contiguous columns (chirpacross.cu), of every length from 2 to 512 that a case
  asks for, small primes too, and through memory (longline.cu), of every pair of ends; and products with
  lines that are neighbours (productacross.cu). Both ways, both precisions, in place
  and not, lines along and across memory, random numbers. Says so and passes where there is no device.

  -quick: few of the lengths
*/
#include "../../src/poisson/plancuda.h"
#include "tests/check.h"

static int passed, failed;

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../../src/base/device.h"
  #include "../../src/base/modes.h"

/* phi_j(i) */
static double phi(const BCRAxisModes *modes, PetscInt j, PetscInt i)
{
  PetscInt64 num, den;
  long double c, s;
  const PetscBool sine = BCRAxisModesGetPhase(modes, j, i, &num, &den);

  BCRUnit(num, 2 * den, &c, &s);
  return (double)(sine ? s : c);
}

static double weight(PetscInt n, const BCREnd end[2], PetscInt i)
{
  return (i == 0 ? BCREndGetRule(end[0]).weight : 1) * (i == n - 1 ? BCREndGetRule(end[1]).weight : 1);
}

/* Numbers of a device in either precision */
static PetscErrorCode put(BCRDeviceArena *arena, BCRStream stream, PetscBool single, PetscInt n, double v[], void *p)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n && single; i++) v[i] = (float)v[i];
  PetscCall(BCRDeviceArenaPut(arena, stream, single, n, v, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode get(BCRStream stream, PetscBool single, PetscInt n, const void *p, double v[])
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaGet(v, p, (size_t)n * (single ? sizeof(float) : sizeof(double)), stream));
  for (PetscInt i = n - 1; i >= 0 && single; i--) v[i] = ((float *)v)[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  PetscInt n, na, nb; /* unknowns of a line; lines */
  BCREnd end[2];
  PetscBool across, product, along, single, in_place, extra; /* along: lines are contiguous */
  int back;
} Case;

/* Line (a, b) starts at a sa + b sb, its numbers are s apart */
static BCRCudaLines lines_of(const Case *c)
{
  BCRCudaLines l;

  l.na = (int)c->na;
  l.nb = (int)c->nb;
  l.s = c->along ? 1 : c->na;
  l.sa = c->along ? c->n : 1;
  l.sb = (ptrdiff_t)c->n * c->na;
  return l;
}

/* f, extra: as they went to the device; u: what came back; mode: of each place */
static PetscErrorCode check(const Case *c, const double f[], const double extra[], const double u[], const int mode[])
{
  const BCRCudaLines l = lines_of(c);
  const PetscInt n = c->n, all = n * c->na * c->nb,
                 step = PetscMax(1, all / PetscMin(1500, 1000000 / n)) | 1; /* some of the results */
  const PetscBool sums = c->across && BCREndIsZero(c->end[0]) && BCREndGetRule(c->end[0]).mirror.distance != 1
                           ? PETSC_TRUE
                           : PETSC_FALSE; /* odd modes are running sums, whose errors add up */
  const double factor = c->across ? 2 : 1, tol = (c->single ? 3e-6 : 6e-15) * (sums || n > 10000 ? 4 : 1);
  double error = 0, norm = 0;
  BCRAxisModes modes;

  PetscFunctionBegin;
  (void)BCRAxisModesDescribe(n, c->end[0], c->end[1], &modes);
  for (PetscInt o = 0; o < all; o += step) {
    const PetscInt k = o % n, a = o / n % c->na, b = o / n / c->na;
    const double *x = f + a * l.sa + b * l.sb;
    double sum = 0;

    for (PetscInt i = 0; i < n; i++) {
      if (c->back) sum += phi(&modes, mode[i], k) * x[i * l.s];
      else sum += weight(n, c->end, i) * phi(&modes, mode[k], i) * (x[i * l.s] + (c->extra && a == 0 ? extra[i] : 0));
    }
    sum *= factor;
    error += PetscSqr(u[a * l.sa + b * l.sb + k * l.s] - sum);
    norm += PetscSqr(sum);
  }
  if (error <= PetscSqr(tol) * norm) passed++;
  else {
    failed++;
    printf("%s, ends %d, %d: %d numbers, %d x %d lines, %s%s%s: error %.1e of %.1e\n", c->name, (int)c->end[0],
           (int)c->end[1], (int)n, (int)c->na, (int)c->nb, c->back ? "back" : "forth", c->single ? ", single" : "",
           c->in_place ? ", in place" : "", sqrt(error), sqrt(norm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode long_tables(BCRDeviceArena *arena, BCRStream stream, BCRCudaLong *p)
{
  const size_t bytes = 2 * (size_t)p->M * sizeof(double);

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(arena, bytes, "tables", &p->root));
  PetscCall(BCRDeviceArenaGet(arena, bytes, "tables", &p->spectrum));
  PetscCall(BCRDeviceArenaGet(arena, bytes * (size_t)p->pairs, "tables", &p->x));
  PetscCallBCRCuda(BCRCudaLongTables(stream, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(const Case *c, int shared)
{
  const PetscInt n = c->n, all = n * c->na * c->nb;
  const BCRCudaLines l = lines_of(c);
  BCRDeviceArena arena = {0};
  BCRStream stream;
  double *f, *u, *extra;
  void *df, *du, *de, *dof;
  int *mode, *of;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaStreamCreate(&stream));
  PetscCall(PetscMalloc5(all, &f, all, &u, n, &extra, 2 * n, &mode, c->na, &of));
  for (PetscInt i = 0; i < all; i++) f[i] = u[i] = 2 * TestUniform() - 1;
  for (PetscInt i = 0; i < n; i++) extra[i] = 2 * TestUniform() - 1;
  for (PetscInt i = 0; i < n; i++) mode[i] = (int)i;
  for (PetscInt a = 0; a < c->na; a++) of[a] = a ? -1 : 0;
  PetscCall(put(&arena, stream, c->single, all, f, &df));
  PetscCall(put(&arena, stream, c->single, n, extra, &de));
  PetscCall(BCRDeviceArenaPut(&arena, stream, c->single, all, u, &du));
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)c->na * sizeof(int), "tables", &dof));
  PetscCallBCRCuda(BCRCudaPut(dof, of, (size_t)c->na * sizeof(int), stream));
  if (c->in_place) du = df;
  if (c->product) {
    BCRCudaModes modes;
    BCRCudaProducts p;

    BCRPlanCudaModes(n, c->end, &modes);
    PetscCheck(BCRCudaProductsPlan(&modes, shared, &p) && BCRCudaProductsAcross(&modes, shared, &p), PETSC_COMM_SELF,
               PETSC_ERR_PLIB, "No plan of %" PetscInt_FMT " unknowns", n);
    for (int way = 0; way < 2; way++) {
      double *table;

      PetscCall(BCRDeviceArenaGet(&arena, BCRCudaProductsCount(&p) * sizeof(double), "tables", &table));
      PetscCallBCRCuda(BCRCudaProductsTable(stream, &modes, &p, way, table));
      p.table[way] = table;
    }
    PetscCallBCRCuda(BCRCudaProductsApply(stream, &p, c->back, 0, &l, df, &l, du, NULL, NULL, 0, 0));
  } else if (c->across) {
    BCRCudaChirpAcross p;
    double *tables;

    PetscCheck(BCRCudaChirpAcrossPlan((int)n, c->end[0], c->single, shared, &p, NULL, NULL), PETSC_COMM_SELF,
               PETSC_ERR_PLIB, "No plan of %" PetscInt_FMT " unknowns", n);
    PetscCall(PetscMalloc1(2 * p.nw, &tables));
    (void)BCRCudaChirpAcrossPlan((int)n, c->end[0], c->single, shared, &p, tables, mode);
    PetscCall(BCRDeviceArenaPut(&arena, stream, c->single, 2 * p.nw, tables, &p.w));
    PetscCall(PetscFree(tables));
    PetscCallBCRCuda(BCRCudaChirpAcrossApply(stream, &p, c->back, c->single, &l, df, &l, du));
  } else {
    BCRCudaModes modes;
    BCRCudaLong p;

    BCRPlanCudaModes(n, c->end, &modes);
    PetscCheck(BCRCudaLongPlan(&modes, shared, &p), PETSC_COMM_SELF, PETSC_ERR_PLIB, "No plan of %" PetscInt_FMT, n);
    p.pairs = 2; /* so that they come in turns */
    PetscCall(long_tables(&arena, stream, &p));
    PetscCallBCRCuda(
      BCRCudaLongApply(stream, &p, c->back, c->single, &l, df, &l, du, c->extra ? de : NULL, (const int *)dof, 0, 0));
  }
  PetscCall(get(stream, c->single, all, du, u));
  PetscCall(check(c, f, extra, u, mode));
  PetscCall(PetscFree5(f, u, extra, mode, of));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscCallBCRCuda(BCRCudaStreamDestroy(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode all_(PetscBool quick)
{
  static const PetscInt across[] = {2, 3, 5, 7, 13, 16, 31, 64, 127, 251, 255, 256, 257, 300, 509, 510, 511, 512},
                        lines[] = {2, 3, 7, 31, 257, 1031, 9341, 10950, 21850, 43700};
  static const BCREnd kinds[] = {BCR_END_PERIODIC, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET};
  char name[64];
  int major, minor, sms, shared;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  shared -= BCR_CUDA_SHARED_RESERVED;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(across); i++)
    for (int kind = 0; kind < 4; kind++)
      for (int way = 0; way < 4; way++) {
        Case c = {.name = "across", .n = across[i], .across = PETSC_TRUE};

        c.end[0] = c.end[1] = kinds[kind];
        if (kinds[kind] == BCR_END_DIRICHLET && c.n == 512) continue;
        if (quick && (int)(i + kind) % 4 != way) continue;
        c.back = way % 2;
        c.single = way > 1 ? PETSC_TRUE : PETSC_FALSE;
        c.na = 1 + (PetscInt)(TestUniform() * 36);
        c.nb = 1 + (PetscInt)(TestUniform() * 2);
        c.in_place = TestUniform() < 0.5 ? PETSC_TRUE : PETSC_FALSE;
        PetscCall(run(&c, shared));
      }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(across); i++)
    for (int kind = 0; kind < 4; kind++) {
      Case c = {.name = "product", .n = across[i], .product = PETSC_TRUE};

      c.end[0] = c.end[1] = kinds[kind];
      if (quick && ((int)i + kind) % 4) continue;
      if (BCREndIsPeriodic(kinds[kind]) ? c.n == 512 : kinds[kind] == BCR_END_DIRICHLET && c.n % 2 == 0) continue;
      c.back = TestUniform() < 0.5;
      c.na = 1 + (PetscInt)(TestUniform() * 70);
      c.nb = 1 + (PetscInt)(TestUniform() * 2);
      c.in_place = TestUniform() < 0.5 ? PETSC_TRUE : PETSC_FALSE;
      PetscCall(run(&c, shared));
    }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(lines) - (quick ? 4 : 0); i++)
    for (int low = 0; low < BCR_ENDS; low++)
      for (int high = 0; high < BCR_ENDS; high++) {
        Case c = {
          .name = "long", .n = lines[i], .end = {(BCREnd)low, (BCREnd)high}
        };
        BCRAxisModes modes;

        if (!BCRAxisModesDescribe(c.n, c.end[0], c.end[1], &modes)) continue;
        if ((quick || c.n > 2000) && (low + 3 * high + (int)i) % 7) continue;
        c.back = TestUniform() < 0.5;
        c.single = TestUniform() < 0.3 ? PETSC_TRUE : PETSC_FALSE;
        c.na = 1 + (PetscInt)(TestUniform() * 4);
        c.nb = 1 + (PetscInt)(TestUniform() * 2);
        c.along = TestUniform() < 0.5 ? PETSC_TRUE : PETSC_FALSE;
        c.in_place = TestUniform() < 0.5 ? PETSC_TRUE : PETSC_FALSE;
        c.extra = !c.back && TestUniform() < 0.5 ? PETSC_TRUE : PETSC_FALSE;
        PetscCall(run(&c, shared));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PetscBool quick = PETSC_FALSE;
    const char *why = NULL;

    PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
    if (BCRDeviceAvailable(&why)) PetscCall(all_(quick));
    else printf("no device: %s\n", why ? why : "");
  }
#else
  printf("built without CUDA\n");
#endif
  PetscCall(PetscFinalize());
  return TestStatus(1, passed, failed);
}
