/*
  quick: 1
  Plans of both backends (src/poisson/plan.h), made without a device: what a CUDA device can do is answered by stand-ins
  here. Asserted is that both take the same decisions where there is one decision to take (axes, their parts, modes, shifts
  and norms of planes, groups, schedules), that each refused way has its reason, that the chosen plan does not depend on the
  shifts that came before, and what is run for problems whose plan is known.
*/
#include "../../src/poisson/plancuda.h"
#include "tests/check.h"

static int passed = 0, failed = 0;
#define TestCheck(ok, ...) \
  do { \
    if (ok) passed++; \
    else { \
      failed++; \
      printf(__VA_ARGS__); \
      printf("\n"); \
    } \
  } while (0)

static int TestRandomInt(int n) /* 0 .. n - 1 */
{
  return (int)(TestUniform() * n);
}

/* ---- a device with 132 multiprocessors, lengths as src/backend/cuda documents them ---- */

static int small_factors(int n)
{
  for (int p = 2; p <= 7; p++)
    while (n % p == 0) n /= p;
  return n == 1;
}
static int can_fft(int P, int single, int shared)
{
  return small_factors(P) && (size_t)P * (single ? 16 : 32) <= (size_t)shared;
}
static int can_sine(int N, int single, int shared)
{
  (void)single;
  (void)shared;
  return N >= 128 && N <= 8192 && !(N & (N - 1));
}
static int can_prime(int P, int single, int shared, BCRCudaDstPrime *plan, double *w, int *index, int *modes)
{
  (void)P;
  (void)single;
  (void)shared;
  (void)plan;
  (void)w;
  (void)index;
  (void)modes;
  return 0;
}
static int can_chirp(int P, int even, int single, int shared)
{
  (void)even;
  (void)single;
  (void)shared;
  return P >= 64 && P <= 4608;
}
static int can_convolve(int n, const BCREnd end[2], int single, int shared)
{
  (void)single;
  (void)shared;
  return n >= 64 && n <= 4608 &&
         (end[0] == end[1] || (!BCREndIsPeriodic(end[0]) && BCREndGetRule(end[0]).mirror.distance != 1));
}
static int can_rows(int n, BCREnd end, int across, int single, int shared, BCRCudaRowFft *plan, double *w, int *index,
                    int *modes)
{
  (void)across;
  (void)single;
  (void)shared;
  (void)w;
  (void)index;
  (void)modes;
  plan->n = n;
  return n >= 32 && small_factors(n) && (BCREndIsPeriodic(end) || BCREndGetRule(end).mirror.distance == 1);
}
static int can_across(int n, BCREnd end, int single, int shared, BCRCudaChirpAcross *plan, double *w, int *modes)
{
  const BCREndMirror mirror = BCREndGetRule(end).mirror;

  (void)single;
  (void)shared;
  (void)w;
  (void)modes;
  plan->n = n;
  return n <= 511 && (BCREndIsPeriodic(end) || mirror.distance == 1 || mirror.sign < 0);
}
static int can_product(const BCRCudaModes *modes, int shared, BCRCudaProducts *m)
{
  (void)shared;
  m->n = modes->n;
  return modes->n <= 1024;
}
static int can_product_across(const BCRCudaModes *modes, int shared, BCRCudaProducts *m)
{
  (void)shared;
  m->n = modes->n;
  return modes->n <= 511;
}
static int can_long(const BCRCudaModes *modes, int shared, BCRCudaLong *plan)
{
  (void)shared;
  (void)plan;
  return modes->n <= 87000;
}
static int can_columns(int N, int single)
{
  (void)single;
  return N == 128 || N == 256 || N == 512 ? N : 0;
}
static int can_box(int N)
{
  return N == 128 || N == 256 || N == 512;
}
static int box_fits(const BCRCudaBoxPlanes *planes, int single)
{
  return planes->kind == BCR_CUDA_BOX_MARCH || planes->N <= (single ? 512 : 256);
}
static int box_ranks(const BCRCudaBoxPlanes *planes, int single)
{
  (void)planes;
  (void)single;
  return 1;
}
static int box_product(const BCRCudaBoxPlanes *planes, const BCRCudaProducts *m, int single)
{
  (void)planes;
  return m->n <= (single ? 128 : 96);
}
static int ring(const int n[3], int single, int sms, size_t cache, int shared, BCRCudaRing *r)
{
  int len[2];

  (void)shared;
  for (int d = 0; d < 2; d++) {
    len[d] = n[d] + (r->axis[d].ends == BCR_CUDA_RING_SINES) - (r->axis[d].ends == BCR_CUDA_RING_COSINES);
    if (len[d] != n[d]) r->apart = 1;
  }
  r->planes = 32 * sms / n[0] + 2;
  return len[0] >= 96 && len[1] >= 96 && small_factors(len[0]) && small_factors(len[1]) && len[0] % 2 == 0 &&
         len[1] % 2 == 0 && (size_t)r->planes * len[0] * len[1] * (single ? 4 : 8) <= cache;
}
static int split(const int n[3], int single, BCRCudaRing *r)
{
  if (r->axis[0].ends != BCR_CUDA_RING_PERIODIC && r->axis[0].ends != BCR_CUDA_RING_CELL) return 0;
  if (r->axis[1].ends != BCR_CUDA_RING_PERIODIC && r->axis[1].ends != BCR_CUDA_RING_CELL) return 0;
  r->apart = 1;
  return n[0] == n[1] && n[0] >= 128 && n[0] % 16 == 0 && small_factors(n[0]) && n[2] % (single ? 32 : 16) == 0;
}
static int ring_lines(int n, int single)
{
  (void)single;
  return n <= 1024;
}
static void shape(BCRCudaLevel0 *l, int single, int sms, int *K, int *columns, int *blocks)
{
  (void)l;
  (void)single;
  (void)sms;
  *K = 7;
  *columns = 7 * 128;
  *blocks = 4;
}
static int whole_rows(const BCRCudaLevel0 *l, int single, int sms, int *slots)
{
  (void)single;
  *slots = 4 * sms;
  return l->nx <= 2048;
}
static int small_plane(const BCRCudaLevel0 *l, int single, int shared)
{
  (void)single;
  (void)shared;
  return (l->nx == 511 || l->nx == 1023) && !l->yperiodic && !l->g0 && l->g1 == l->ng && !l->sepend;
}

static const BCRPlanCuda device = {.sms = 132,
                                   .cache = 40 << 20,
                                   .shared = 232448 - BCR_CUDA_SHARED_RESERVED,
                                   .fft = can_fft,
                                   .sine = can_sine,
                                   .prime = can_prime,
                                   .chirp = can_chirp,
                                   .convolve = can_convolve,
                                   .rows = can_rows,
                                   .across = can_across,
                                   .product = can_product,
                                   .productacross = can_product_across,
                                   .longline = can_long,
                                   .columns = can_columns,
                                   .box = can_box,
                                   .boxfits = box_fits,
                                   .boxranks = box_ranks,
                                   .boxproduct = box_product,
                                   .ring = ring,
                                   .ringlines = ring_lines,
                                   .split = split,
                                   .shape = shape,
                                   .wholerows = whole_rows,
                                   .small = small_plane};

/* ---- problems ---- */

typedef struct {
  PetscInt dim, stride[3];
  BCRAxis axis[3];
  PetscReal shift;
  PetscBool singular;
  BCRCoreOptions options;
  PetscBool open[2]; /* rows along the last axis go on on other ranks */
} Problem;

static BCREnd random_end(PetscBool singular)
{
  for (;;) {
    const BCREnd end = (BCREnd)(TestRandomInt(BCR_ENDS));

    if (!BCREndIsPeriodic(end) && (!singular || BCREndGetRule(end).excess == 0)) return end;
  }
}

static PetscErrorCode problem_random(Problem *q)
{
  static const PetscInt sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 97, 127, 128, 129, 255, 511};
  PetscInt size = 1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(q, sizeof(*q)));
  q->dim = 1 + TestRandomInt(3);
  q->singular = TestRandomInt(4) == 0 ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt d = 0; d < q->dim; d++) {
    BCRAxis *a = &q->axis[d];

    a->n = sizes[TestRandomInt((int)PETSC_STATIC_ARRAY_LENGTH(sizes))];
    a->a = (PetscReal)(0.5 + TestUniform());
    if (TestRandomInt(4) == 0) a->end[0] = a->end[1] = BCR_END_PERIODIC;
    else
      for (int e = 0; e < 2; e++) a->end[e] = random_end(q->singular);
    if (a->n == 1) a->end[0] = a->end[1] = BCREndOfOne();
    q->stride[d] = size;
    size *= a->n;
  }
  for (PetscInt d = 0, some = TestRandomInt(4); d < q->dim && some == 0; d++) { /* one general axis, or more */
    BCRAxis *a = &q->axis[d];

    if (TestRandomInt((int)q->dim) || a->n > 300) continue;
    a->end[0] = a->end[1] = BCR_END_GENERAL;
    PetscCall(PetscMalloc3(a->n, &a->lower, a->n, &a->diag, a->n, &a->upper));
    for (PetscInt i = 0; i < a->n; i++) {
      a->lower[i] = i ? 1 : 0;
      a->upper[i] = i < a->n - 1 ? 1 : 0;
      a->diag[i] = a->lower[i] + a->upper[i] + (q->singular ? 0 : (PetscReal)TestUniform());
    }
  }
  q->shift = q->singular ? 0 : (PetscReal)TestUniform();
  q->options.isa = -1;
  q->options.precision = TestRandomInt(2) ? BCR_SINGLE : BCR_DOUBLE;
  if (TestRandomInt(5) == 0) {
    PetscBool can = PETSC_TRUE;

    for (PetscInt d = 1; d < q->dim; d++)
      if (q->axis[d].lower) can = PETSC_FALSE;
    if (can) q->options.radix = 2 + TestRandomInt(7);
    q->options.recursive = TestRandomInt(3) == 0 ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode plans(const Problem *q, PetscReal shift, BCRPlan plan[2])
{
  const BCRPlanSpec spec = {
    .dim = q->dim,
    .axis = q->axis,
    .stride = q->stride,
    .shift = shift,
    .singular = q->singular,
    .io = q->options.precision,
    .options = &q->options,
    .along = q->open[0] || q->open[1] ? q->dim - 1 : -1,
    .open = {q->open[0], q->open[1]}
  };
  BCRPlanLimits limits[2];

  PetscFunctionBegin;
  BCRPlanLimitsHost(-1, q->options.precision == BCR_SINGLE ? PETSC_TRUE : PETSC_FALSE, &limits[0]);
  BCRPlanLimitsCuda(&device, &limits[1]);
  for (int b = 0; b < 2; b++) PetscCall(BCRPlanCreate(&spec, &limits[b], &plan[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What must be the same whatever the backend */
static void compare(PetscInt t, BCRPlan h, BCRPlan c)
{
  PetscBool same = h->dim == c->dim && h->fixed == c->fixed && h->blocks == c->blocks && h->across == c->across &&
                       h->line == c->line && h->nplanes == c->nplanes && h->nlevels == c->nlevels
                     ? PETSC_TRUE
                     : PETSC_FALSE;

  for (PetscInt d = 0; d < h->dim && same; d++) {
    same = h->n[d] == c->n[d] && h->label[d] == c->label[d] && h->stride[d] == c->stride[d] &&
               h->constant[d] == c->constant[d] && !h->lambda[d] == !c->lambda[d]
             ? PETSC_TRUE
             : PETSC_FALSE;
    for (PetscInt j = 0; j < h->n[d] && same && h->lambda[d]; j++)
      same = h->lambda[d][j] == c->lambda[d][j] && h->norm[d][j] == c->norm[d][j] ? PETSC_TRUE : PETSC_FALSE;
  }
  for (PetscInt k = 0; k < h->nplanes && same && !(h->across >= 0 && !h->lambda[h->across]); k++)
    same = BCRPlanPlaneShift(h, k) == BCRPlanPlaneShift(c, k) && BCRPlanPlaneNorm(h, k) == BCRPlanPlaneNorm(c, k)
             ? PETSC_TRUE
             : PETSC_FALSE;
  for (PetscInt l = 0; l < h->nlevels && same; l++) same = h->schedule[l] == c->schedule[l] ? PETSC_TRUE : PETSC_FALSE;
  TestCheck(same, "problem %d: the two plans describe different problems", (int)t);
  if (h->kind == BCR_PLAN_POINT || h->kind == BCR_PLAN_LINE || BCRPlanIsReduction(h->kind))
    TestCheck(h->kind == c->kind, "problem %d: host %s, device %s", (int)t, BCRPlanKinds[h->kind],
              BCRPlanKinds[c->kind]);
  /* a device makes a last row that would be a group by itself a separator */
  if (h->kind == BCR_PLAN_LEVEL0 && BCRPlanIsLevel0(c->kind) && h->radix == c->radix &&
      h->separators.gapend[1] == c->separators.gapend[1])
    TestCheck(h->ngroups == c->ngroups && h->decay == c->decay, "problem %d: groups differ", (int)t);
}

/* Of one plan by itself */
static PetscErrorCode consistent(PetscInt t, BCRPlan p)
{
  BCRCoreInfo info;
  PetscInt across = 0, transforms = 0, means = 0;
  PetscBool reasons = PETSC_TRUE, before = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt w = 0; w < p->limits.nways && p->limits.way[w].kind != p->kind; w++)
    if (!p->refused[p->limits.way[w].kind]) reasons = PETSC_FALSE;
  TestCheck(reasons && p->kind != BCR_PLAN_NONE && !p->refused[p->kind],
            "problem %d (%s): %s, and a way before it has no reason", (int)t, p->limits.name, BCRPlanKinds[p->kind]);
  PetscCall(PetscMemzero(&info, sizeof(info)));
  PetscCall(BCRPlanDescribe(p, &info));
  for (PetscInt i = 0; i < p->nstages; i++) {
    if (p->stage[i].kind == BCR_STAGE_ACROSS) across += p->stage[i].back ? -1 : 1;
    if (p->stage[i].kind == BCR_STAGE_TRANSFORM) transforms += p->stage[i].back ? -1 : 1;
    if (p->stage[i].kind != BCR_STAGE_MEAN) continue;
    means++;
    if (p->kind == BCR_PLAN_FOURIER && p->stage[i].axis >= 0) /* a line of modes, which it has behind it */
      before = i > 0 && p->stage[i - 1].kind == BCR_STAGE_LINES && p->stage[i - 1].axis == p->stage[i].axis
                 ? PETSC_TRUE
                 : PETSC_FALSE;
    else if (p->stage[i].axis >= 0) /* a plane of modes: what comes next transforms these back, and is the end */
      before = i + 2 == p->nstages && p->stage[i + 1].kind == BCR_STAGE_ACROSS && p->stage[i + 1].back &&
                   p->stage[i + 1].axis == p->stage[i].axis && p->constant[p->stage[i].axis] >= 0
                 ? PETSC_TRUE
                 : PETSC_FALSE;
    else before = i + 1 == p->nstages ? PETSC_TRUE : PETSC_FALSE;
  }
  TestCheck(before && means <= (p->singular ? 1 : 0), "problem %d (%s): a mean in the wrong place", (int)t,
            p->limits.name);
  TestCheck(p->nstages > 0 && !across && !transforms, "problem %d (%s): transforms forth without back", (int)t,
            p->limits.name);
  TestCheck(info.kind == p->kind && info.plan[0] && (BCRPlanIsReduction(p->kind) || (info.flops > 0 && info.bytes > 0)),
            "problem %d (%s): text '%s', %g flops, %g bytes", (int)t, p->limits.name, info.plan, info.flops,
            info.bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode random_problems(PetscInt cases, PetscInt seen[2][BCR_PLAN_KINDS])
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < cases; t++) {
    Problem q;
    BCRPlan plan[2];

    PetscCall(problem_random(&q));
    PetscCall(plans(&q, q.shift, plan));
    compare(t, plan[0], plan[1]);
    for (int b = 0; b < 2; b++) {
      const BCRPlanKind kind = plan[b]->kind;

      PetscCall(consistent(t, plan[b]));
      seen[b][kind]++;
      if (!q.singular) { /* a shift that nothing of level 0 can take, and back */
        PetscCall(BCRPlanSetShift(plan[b], -1000));
        TestCheck(!BCRPlanIsLevel0(plan[b]->kind), "problem %d: level 0 with a shift of -1000", (int)t);
        PetscCall(BCRPlanSetShift(plan[b], q.shift));
        TestCheck(plan[b]->kind == kind, "problem %d: %s, after another shift %s", (int)t, BCRPlanKinds[kind],
                  BCRPlanKinds[plan[b]->kind]);
      }
      PetscCall(BCRPlanDestroy(&plan[b]));
    }
    for (PetscInt d = 0; d < q.dim; d++) PetscCall(PetscFree3(q.axis[d].lower, q.axis[d].diag, q.axis[d].upper));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Double precision, shift 0, the last axis between Dirichlet ends */
static PetscErrorCode known(void)
{
  static const struct {
    PetscInt dim, n[3];
    BCREnd end; /* of the other axes */
    BCRPlanKind host, cuda;
  } problem[] = {
    {1, {100, 1, 1},     BCR_END_DIRICHLET,    BCR_PLAN_LINE,    BCR_PLAN_LINE        },
    {2, {1, 1, 1},       BCR_END_DIRICHLET,    BCR_PLAN_POINT,   BCR_PLAN_POINT       },
    {2, {1, 50, 1},      BCR_END_DIRICHLET,    BCR_PLAN_LINE,    BCR_PLAN_LINE        },
    {2, {10, 10, 1},     BCR_END_DIRICHLET,    BCR_PLAN_FOURIER, BCR_PLAN_FOURIER     },
    {2, {511, 511, 1},   BCR_END_DIRICHLET,    BCR_PLAN_POLES,   BCR_PLAN_LEVEL0_SMALL},
    {2, {1000, 1001, 1}, BCR_END_DIRICHLET,    BCR_PLAN_LEVEL0,  BCR_PLAN_LEVEL0      },
    {2, {4095, 4095, 1}, BCR_END_DIRICHLET,    BCR_PLAN_POLES,   BCR_PLAN_LEVEL0      },
    {3, {64, 64, 64},    BCR_END_DIRICHLET,    BCR_PLAN_LEVEL0,  BCR_PLAN_BOX_PRODUCT },
    {3, {127, 127, 127}, BCR_END_DIRICHLET,    BCR_PLAN_LEVEL0,  BCR_PLAN_BOX         },
    {3, {511, 511, 511}, BCR_END_DIRICHLET,    BCR_PLAN_LEVEL0,  BCR_PLAN_LEVEL0_ROWS },
    {3, {256, 256, 64},  BCR_END_CELL_NEUMANN, BCR_PLAN_LEVEL0,  BCR_PLAN_SPLIT       },
    {3, {128, 192, 40},  BCR_END_PERIODIC,     BCR_PLAN_LEVEL0,  BCR_PLAN_RING        },
    {3, {384, 160, 300}, BCR_END_CELL_NEUMANN, BCR_PLAN_LEVEL0,  BCR_PLAN_RING        },
    {3, {128, 128, 40},  BCR_END_NEUMANN,      BCR_PLAN_LEVEL0,  BCR_PLAN_BOX_PRODUCT }
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problem); i++) {
    const BCRPlanKind kind[2] = {problem[i].host, problem[i].cuda};
    Problem q;
    BCRPlan plan[2];

    PetscCall(PetscMemzero(&q, sizeof(q)));
    q.dim = problem[i].dim;
    q.options.isa = -1;
    q.options.precision = BCR_DOUBLE;
    for (PetscInt d = 0; d < q.dim; d++) {
      q.axis[d].n = problem[i].n[d];
      q.axis[d].a = 1;
      q.axis[d].end[0] = q.axis[d].end[1] = d < q.dim - 1 ? problem[i].end : BCR_END_DIRICHLET;
      q.stride[d] = d ? q.stride[d - 1] * problem[i].n[d - 1] : 1;
    }
    PetscCall(plans(&q, 0, plan));
    for (int b = 0; b < 2; b++) {
      TestCheck(plan[b]->kind == kind[b], "%d x %d x %d, %s: %s instead of %s", (int)problem[i].n[0],
                (int)problem[i].n[1], (int)problem[i].n[2], plan[b]->limits.name, BCRPlanKinds[plan[b]->kind],
                BCRPlanKinds[kind[b]]);
      PetscCall(BCRPlanDestroy(&plan[b]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular operator takes the stages that it takes with a shift on a device, and their bytes, where the lines see to the
   mean of its solution; elsewhere there is one more stage, of at most a twentieth of the bytes where transformed axes are
   periodic or cell-centred. p, c, n: ends of each axis; m: n and c; <, >: the last axis goes on on other
   ranks at its low, high end */
static PetscErrorCode means(void)
{
  static const struct {
    PetscInt dim, n[3];
    const char *ends;
    BCRPlanKind kind;
    PetscBool lines;
  } problem[] = {
    {2, {4096, 4096, 1}, "pp",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {1024, 1024, 1}, "cc",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {4096, 251, 1},  "pc",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {1025, 1023, 1}, "nn",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {1025, 1024, 1}, "np",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {1024, 1025, 1}, "cn",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {158, 129, 1},   "mm",   BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {1024, 512, 1},  "cc>",  BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {1025, 512, 1},  "nn<>", BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {158, 129, 1},   "mm<",  BCR_PLAN_LEVEL0,      PETSC_TRUE },
    {2, {20, 1025, 1},   "cn",   BCR_PLAN_FOURIER,     PETSC_FALSE},
    {3, {20, 20, 300},   "pcn",  BCR_PLAN_FOURIER,     PETSC_FALSE},
    {3, {90, 81, 75},    "ccc",  BCR_PLAN_BOX_PRODUCT, PETSC_TRUE },
    {3, {256, 256, 100}, "ppc",  BCR_PLAN_RING,        PETSC_TRUE }
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problem); i++) {
    Problem q;
    BCRPlan plan[2][2];
    PetscInt more;
    double bytes = 0;

    PetscCall(PetscMemzero(&q, sizeof(q)));
    q.dim = problem[i].dim;
    q.options.isa = -1;
    q.options.precision = BCR_DOUBLE;
    for (PetscInt d = 0; d < q.dim; d++) {
      const char end = problem[i].ends[d];

      q.axis[d].n = problem[i].n[d];
      q.axis[d].a = 1;
      q.axis[d].end[0] = q.axis[d].end[1] = end == 'p'   ? BCR_END_PERIODIC
                                            : end == 'c' ? BCR_END_CELL_NEUMANN
                                                         : BCR_END_NEUMANN;
      if (end == 'm') q.axis[d].end[1] = BCR_END_CELL_NEUMANN;
      for (int e = 0; e < 2 && d == q.dim - 1; e++) {
        q.open[e] = strchr(problem[i].ends, e ? '>' : '<') ? PETSC_TRUE : PETSC_FALSE;
        if (q.open[e]) q.axis[d].end[e] = BCREndAtSeparator();
      }
      q.stride[d] = d ? q.stride[d - 1] * problem[i].n[d - 1] : 1;
    }
    PetscCall(plans(&q, 0.1, plan[0]));
    q.singular = PETSC_TRUE;
    PetscCall(plans(&q, 0, plan[1]));
    more = plan[1][1]->nstages - plan[0][1]->nstages;
    TestCheck(plan[1][1]->kind == problem[i].kind && plan[0][1]->kind == problem[i].kind,
              "singular %s: %s, with a shift %s, instead of %s", problem[i].ends, BCRPlanKinds[plan[1][1]->kind],
              BCRPlanKinds[plan[0][1]->kind], BCRPlanKinds[problem[i].kind]);
    TestCheck(more == (problem[i].lines ? 0 : 1), "singular %s: %d stages more than with a shift", problem[i].ends,
              (int)more);
    for (PetscInt s = 0; s < plan[0][1]->nstages; s++) bytes += plan[0][1]->stage[s].bytes;
    for (PetscInt s = 0, t = 0; s < plan[0][1]->nstages && more >= 0; s++, t++) {
      if (plan[1][1]->stage[t].kind == BCR_STAGE_MEAN) {
        TestCheck(plan[1][1]->stage[t].bytes <= 0.05 * bytes, "singular %s: %g bytes for the mean, %g for the rest",
                  problem[i].ends, plan[1][1]->stage[t].bytes, bytes);
        t++;
      }
      TestCheck(plan[1][1]->stage[t].kind == plan[0][1]->stage[s].kind &&
                  plan[1][1]->stage[t].bytes == plan[0][1]->stage[s].bytes,
                "singular %s: stage %d is not that with a shift", problem[i].ends, (int)s);
    }
    for (int b = 0; b < 2; b++)
      for (int s = 0; s < 2; s++) PetscCall(BCRPlanDestroy(&plan[s][b]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes through the second-level cache: which axis is across them, or why there are none */
static PetscErrorCode rings(void)
{
  static const struct {
    PetscInt n[3], pad; /* pad: unknowns between rows */
    BCREnd end[3][2];
    PetscInt general, line; /* general: that axis, or -1; line: 0: none */
    const char *why;
  } problem[] = {
  /* x, y and z */
    {{128, 129, 40},
     0, {{BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_NEUMANN, BCR_END_NEUMANN},
      {BCR_END_DIRICHLET, BCR_END_CELL_NEUMANN}},
     -1,
     2,     NULL                                   },
    {{128, 192, 40},
     1, {{BCR_END_NEUMANN, BCR_END_DIRICHLET},
      {BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN},
      {BCR_END_NEUMANN, BCR_END_NEUMANN}},
     -1,
     2,     NULL                                   },
    {{128, 40, 191},
     0, {{BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN},
      {BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_DIRICHLET, BCR_END_DIRICHLET}},
     -1,
     1,     NULL                                   },
    {{128, 128, 40},
     0, {{BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_DIRICHLET, BCR_END_CELL_NEUMANN}},
     -1,
     2,     NULL                                   },
    {{128, 128, 128},
     0, {{BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_DIRICHLET, BCR_END_CELL_NEUMANN},
      {BCR_END_PERIODIC, BCR_END_PERIODIC}},
     -1,
     1,     NULL                                   },
    {{127, 128, 128},
     0, {{BCR_END_DIRICHLET, BCR_END_DIRICHLET},
      {BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_PERIODIC, BCR_END_PERIODIC}},
     1,  1,
     NULL                                          },
    {{128, 128, 128},
     0, {{BCR_END_PERIODIC, BCR_END_PERIODIC}, {BCR_END_PERIODIC, BCR_END_PERIODIC}, {BCR_END_PERIODIC, BCR_END_PERIODIC}},
     0,  0,
     "coefficients that vary"                      },
    {{40, 128, 128},
     0, {{BCR_END_PERIODIC, BCR_END_PERIODIC}, {BCR_END_PERIODIC, BCR_END_PERIODIC}, {BCR_END_PERIODIC, BCR_END_PERIODIC}},
     -1,
     0,     "no lengths"                           },
    {{128, 128, 40},
     0, {{BCR_END_CELL_NEUMANN, BCR_END_DIRICHLET},
      {BCR_END_PERIODIC, BCR_END_PERIODIC},
      {BCR_END_PERIODIC, BCR_END_PERIODIC}},
     -1,
     0,     "a node-centred and a cell-centred end"}
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problem); i++) {
    PetscReal c[3][128];
    Problem q;
    BCRPlan plan[2];

    PetscCall(PetscMemzero(&q, sizeof(q)));
    q.dim = 3;
    q.shift = 1;
    q.options.isa = -1;
    q.options.precision = BCR_DOUBLE;
    for (PetscInt d = 0; d < 3; d++) {
      BCRAxis *a = &q.axis[d];

      a->n = problem[i].n[d];
      a->a = 1;
      for (int e = 0; e < 2; e++) a->end[e] = problem[i].end[d][e];
      q.stride[d] = d ? q.stride[d - 1] * problem[i].n[d - 1] + (d == 1 ? problem[i].pad : 0) : 1;
      if (d != problem[i].general) continue;
      a->end[0] = a->end[1] = BCR_END_GENERAL;
      for (PetscInt j = 0; j < a->n; j++) {
        c[0][j] = j ? 1 : 0;
        c[2][j] = j < a->n - 1 ? 1 : 0;
        c[1][j] = 3;
      }
      a->lower = c[0];
      a->diag = c[1];
      a->upper = c[2];
    }
    PetscCall(plans(&q, q.shift, plan));
    if (problem[i].line)
      TestCheck(plan[1]->kind == BCR_PLAN_RING && plan[1]->ring.axis[2] == problem[i].line &&
                  plan[1]->general == (problem[i].general >= 0),
                "planes through the cache, %d: %s, lines along %d", (int)i, BCRPlanKinds[plan[1]->kind],
                (int)plan[1]->ring.axis[2]);
    else
      TestCheck(plan[1]->refused[BCR_PLAN_RING] && strstr(plan[1]->refused[BCR_PLAN_RING], problem[i].why),
                "planes through the cache, %d: refused since %s", (int)i,
                plan[1]->refused[BCR_PLAN_RING] ? plan[1]->refused[BCR_PLAN_RING] : "nothing");
    for (int b = 0; b < 2; b++) PetscCall(BCRPlanDestroy(&plan[b]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A general axis whose couplings up are `up` times those down: cond V is up^((n - 1)/2) */
static PetscErrorCode axis_skew(PetscInt n, double up, BCRAxis *a)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(a, sizeof(*a)));
  a->n = n;
  a->end[0] = a->end[1] = BCR_END_GENERAL;
  PetscCall(PetscMalloc3(n, &a->lower, n, &a->diag, n, &a->upper));
  for (PetscInt i = 0; i < n; i++) {
    a->lower[i] = i ? 1 : 0;
    a->upper[i] = i < n - 1 ? (PetscReal)up : 0;
    a->diag[i] = 2 + (PetscReal)up;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode quiet(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                            PetscErrorType type, const char *message, void *ctx)
{
  (void)comm, (void)line, (void)function, (void)file, (void)type, (void)message, (void)ctx;
  return code;
}

/* Products with eigenvectors along axis d, analysis and synthesis: each reads and writes the box once, with a
   multiplication and an addition for each entry of the matrix */
static void products(PetscInt i, BCRPlan p, PetscInt d)
{
  const double N = (double)p->n[0] * p->n[1] * p->n[2];
  PetscInt count = 0;

  for (PetscInt s = 0; s < p->nstages; s++) {
    const BCRStage *stage = &p->stage[s];

    if (stage->axis != d || (stage->kind != BCR_STAGE_TRANSFORM && stage->kind != BCR_STAGE_ACROSS)) continue;
    count++;
    TestCheck(stage->flops == (BCREigenFolds(p->eigen[d]) && !p->limits.cuda ? 1 : 2) * p->n[d] * N &&
                stage->bytes == 2 * N * sizeof(double),
              "several general axes, %d (%s): %g flops, %g bytes along %d", (int)i, p->limits.name, stage->flops,
              stage->bytes, (int)d);
  }
  TestCheck(count == 2 && p->transform[d] == BCR_TRANSFORM_EIGEN,
            "several general axes, %d (%s): %d transforms by %s along %d", (int)i, p->limits.name, (int)count,
            BCRTransformKinds[p->transform[d]], (int)d);
}

/* Which of several general axes has the lines, and what the plan is then, on either backend; refused: those that cannot
   be transformed */
static PetscErrorCode several(void)
{
  static const struct {
    PetscInt dim, n[3];
    double up[3]; /* 0: uniform */
    int line;     /* -1: refused */
  } problem[] = {
    {2, {20, 20, 1},     {1, 1, 1},     1 }, /* alike: the last */
    {2, {20, 10, 1},     {1, 1, 1},     0 }, /* the longest */
    {2, {20, 18, 1},     {1, 1.9, 1},   1 }, /* the other one would have to be refined */
    {2, {20, 18, 1},     {1.7, 1.9, 1}, 0 }, /* both would: the longest */
    {2, {20, 18, 1},     {4, 200, 1},   1 }, /* the other one is out of reach */
    {2, {20, 18, 1},     {200, 200, 1}, -1},
    {2, {20, 2100, 1},   {1, 1, 1},     1 },
    {2, {2100, 2100, 1}, {1, 1, 1},     -1}, /* too long to be transformed */
    {3, {9, 10, 11},     {1, 1, 1},     2 },
    {3, {9, 11, 10},     {1, 1, 1},     1 },
    {3, {11, 9, 10},     {1, 0, 1},     0 },
    {3, {9, 10, 11},     {3, 1, 1},     0 },
    {3, {9, 10, 64},     {1, 1, 0},     1 }
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problem); i++) {
    const PetscInt *n = problem[i].n;
    const PetscInt stride[3] = {1, n[0], n[0] * n[1]};
    const BCRCoreOptions options = {.isa = -1, .precision = BCR_DOUBLE};
    BCRAxis axis[3] = {{0}};
    BCRPlanLimits limits[2];
    double rest;

    for (PetscInt d = 0; d < problem[i].dim; d++) {
      if (problem[i].up[d] != 0) PetscCall(axis_skew(n[d], problem[i].up[d], &axis[d]));
      else
        axis[d] = (BCRAxis){
          .n = n[d], .a = 1, .end = {BCR_END_DIRICHLET, BCR_END_DIRICHLET}
        };
    }
    (void)BCRAxesLine(problem[i].dim, axis, &rest);
    TestCheck((rest > BCR_CONDITION_MOST) == (problem[i].line < 0), "several general axes, %d: condition %g", (int)i,
              rest);
    BCRPlanLimitsHost(-1, PETSC_FALSE, &limits[0]);
    BCRPlanLimitsCuda(&device, &limits[1]);
    for (int b = 0; b < 2; b++) {
      const BCRPlanSpec spec = {
        .dim = problem[i].dim, .axis = axis, .stride = stride, .io = BCR_DOUBLE, .options = &options, .along = -1};
      BCRPlan p = NULL;
      PetscErrorCode ierr;

      PetscCall(PetscPushErrorHandler(quiet, NULL));
      ierr = BCRPlanCreate(&spec, &limits[b], &p);
      PetscCall(PetscPopErrorHandler());
      if (problem[i].line < 0)
        TestCheck(ierr == PETSC_ERR_SUP, "several general axes, %d: error %d", (int)i, (int)ierr);
      else {
        /* the first is uniform inside and between mirrors, which a host takes for what it is */
        TestCheck(!ierr && p->kind == (b == 0 && i == 0 ? BCR_PLAN_LEVEL0 : BCR_PLAN_FOURIER) &&
                    p->line == problem[i].line && p->across != p->line,
                  "several general axes, %d: %s, lines along %d", (int)i, BCRPlanKinds[p->kind], (int)p->line);
        TestCheck(!p->ends.there, "several general axes, %d: ends apart", (int)i);
        for (PetscInt d = 0; d < p->dim; d++) {
          TestCheck(!p->eigen[d] == (d == p->line || !axis[d].lower || (d == 0 && b == 0 && i == 0)),
                    "several general axes, %d: axis %d", (int)i, (int)d);
          if (p->eigen[d]) {
            products((PetscInt)i, p, d);
            TestCheck(BCREigenFolds(p->eigen[d]) == (problem[i].up[d] == 1 && n[d] >= 16),
                      "several general axes, %d: axis %d is folded, or not", (int)i, (int)d);
          }
          for (PetscInt k = 0; k < p->n[d] && p->eigen[d]; k++) { /* of a Toeplitz matrix, in closed form */
            const PetscInt even = BCREigenFolds(p->eigen[d]) ? (n[d] + 1) / 2 : n[d], /* even ones first */
              number = even == n[d] ? k
                       : k < even   ? 2 * k
                                    : 2 * (k - even) + 1;
            const double up = problem[i].up[d],
                         lambda = 2 + up - 2 * sqrt(up) * cos(PETSC_PI * (double)(number + 1) / (double)(n[d] + 1));

            TestCheck(fabs(p->axis[d].a * p->lambda[d][k] - lambda) <= 1e-13 * (2 + up) || sizeof(PetscReal) == 4,
                      "several general axes, %d: eigenvalue %d of axis %d off by %g", (int)i, (int)k, (int)d,
                      p->lambda[d][k] - lambda);
          }
        }
        PetscCall(consistent((PetscInt)i, p));
      }
      PetscCall(BCRPlanDestroy(&p));
    }
    for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree3(axis[d].lower, axis[d].diag, axis[d].upper));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operators of either sign, transformed along all axes: of both backends the signs and sizes of all eigenvalues, one by
   one, and modes that are left out */
static PetscErrorCode signs(PetscInt t)
{
  BCRPlan plan[2];
  BCRPlanLimits limits[2];
  double lowest = 0, above = PETSC_MAX_REAL, size = 0;
  Problem q;

  PetscFunctionBegin;
  do PetscCall(problem_random(&q));
  while (q.singular || (double)q.axis[0].n * PetscMax(q.axis[1].n, 1) * PetscMax(q.axis[2].n, 1) > 3e5);
  q.options.radix = 0;
  q.options.precision = BCR_DOUBLE;
  BCRPlanLimitsHost(-1, PETSC_FALSE, &limits[0]);
  BCRPlanLimitsCuda(&device, &limits[1]);
  for (int pass = 0; pass < 2; pass++) { /* the second time an eigenvalue is the shift */
    const PetscReal shift = (PetscReal)(pass ? -lowest : -8 * TestUniform());
    const BCRPlanSpec spec = {.dim = q.dim,
                              .axis = q.axis,
                              .stride = q.stride,
                              .shift = shift,
                              .io = BCR_DOUBLE,
                              .options = &q.options,
                              .along = -1,
                              .waves = PETSC_TRUE};

    for (int b = 0; b < 2; b++) {
      double negative = 0, left = 0, least = PETSC_MAX_REAL;
      BCRPlan p;

      PetscCall(BCRPlanCreate(&spec, &limits[b], &plan[b]));
      p = plan[b];
      size = fabs((double)shift);
      for (PetscInt d = 0; d < q.dim; d++) size += q.axis[d].n > 1 && !q.axis[d].lower ? 4 * (double)q.axis[d].a : 0;
      for (PetscInt k = 0; k < p->n[2]; k++)
        for (PetscInt j = 0; j < p->n[1]; j++)
          for (PetscInt i = 0; i < p->n[0] && p->dim; i++) {
            const PetscInt at[3] = {i, j, k};
            double v = (double)shift + p->fixed;

            for (PetscInt d = 0; d < p->dim; d++) v += (double)p->axis[d].a * p->lambda[d][at[d]];
            negative += v < -p->tol ? 1 : 0;
            left += fabs(v) <= p->tol ? 1 : 0;
            least = PetscMin(least, fabs(v));
            if (fabs(v) < above) {
              above = fabs(v);
              lowest = v - (double)shift;
            }
          }
      TestCheck(p->kind == (p->dim ? BCR_PLAN_SPECTRAL : BCR_PLAN_POINT) ||
                  (b && p->dim == 3 && BCRPlanIsRing(p->kind) && !p->left_out),
                "signs, %d: plan %s", (int)t, BCRPlanKinds[p->kind]);
      if (!p->dim) continue;
      TestCheck(p->negative == (PetscInt64)negative && p->left_out == (PetscInt64)left &&
                  fabs(p->symbol_min - least) <= 1e-14 * size,
                "signs, %d of %s: %d negative, %d left out, smallest %g, not %g, %g, %g", (int)t, b ? "cuda" : "cpu",
                (int)p->negative, (int)p->left_out, p->symbol_min, negative, left, least);
      TestCheck(p->symbol_size >= size && p->symbol_size <= size + 6 * (double)q.dim && (!pass || p->left_out > 0),
                "signs, %d: size %g of %g, %d left out", (int)t, p->symbol_size, size, (int)p->left_out);
      TestCheck(!BCRPlanDividesWithin(p) || !p->left_out, "signs, %d: nobody sees what is left out", (int)t);
    }
    for (int b = 0; b < 2; b++) PetscCall(BCRPlanDestroy(&plan[b]));
    above = PETSC_MAX_REAL;
  }
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree3(q.axis[d].lower, q.axis[d].diag, q.axis[d].upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transforms by eigenvectors, of an axis that is the same from either end (not at one place: hair) and has Robin ends, against
   the matrices; of the matrices that they are inverse to each other and what they do to the axis */
static PetscErrorCode eigenvectors(PetscInt n, PetscBool hair, PetscBool singular, PetscBool single)
{
  enum {
    LINES = 300 /* more than a batch */
  };
  const double eps = single ? 6e-8 : PETSC_MACHINE_EPSILON;
  const size_t size = (size_t)n * LINES;
  const void *M[2];
  BCRAxis x = {
    .n = n, .end = {BCR_END_GENERAL, BCR_END_GENERAL}
  };
  double *lambda, *in, *out, *work, error[3] = {0, 0, 0};
  PetscInt constant;
  BCREigen e;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &x.lower, n, &x.diag, n, &x.upper));
  for (PetscInt i = 0; i < n; i++) { /* cells, wider in the middle */
    const double w = 1 + (double)PetscMin(i, n - 1 - i), low = 1 + (double)PetscMin(i - 1, n - i),
                 high = 1 + (double)PetscMin(i + 1, n - 2 - i);

    x.lower[i] = (PetscReal)(i ? 2 / (w * (w + low)) : 0);
    x.upper[i] = (PetscReal)(i < n - 1 ? 2 / (w * (w + high)) : 0);
  }
  for (PetscInt i = 0; i < n / 2; i++) { /* to the last digit */
    x.upper[n - 1 - i] = x.lower[i];
    x.lower[n - 1 - i] = x.upper[i];
  }
  if (hair) x.lower[1] *= 1 + (PetscReal)1e-4;
  for (PetscInt i = 0; i < n; i++)
    x.diag[i] = x.lower[i] + x.upper[i] + (!singular && (i == 0 || i == n - 1) ? (PetscReal)0.3 : 0);
  PetscCall(BCREigenCreate(&x, singular, single, &e));
  PetscCall(BCREigenGetMatrices(e, &M[0], &M[1]));
  PetscCall(PetscMalloc4(n, &lambda, size, &in, size, &out, BCREigenWork(e) + 64, &work));
  PetscCall(BCREigenGetModes(e, lambda, &constant));
  TestCheck(BCREigenFolds(e) == (!hair && n >= 16) && (constant >= 0) == singular, "%d eigenvectors: folded %d", (int)n,
            (int)BCREigenFolds(e));
#define ENTRY(d, k, i) (single ? (double)((const float *)M[d])[(k)*n + (i)] : ((const double *)M[d])[(k)*n + (i)])
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt l = 0; l < n; l++) { /* V^-1 V and V^-1 T V */
      double one = 0, t = 0;

      for (PetscInt i = 0; i < n; i++) {
        one += ENTRY(0, k, i) * ENTRY(1, l, i);
        t += ENTRY(0, k, i) * ((double)x.diag[i] * ENTRY(1, l, i) - (i ? (double)x.lower[i] * ENTRY(1, l, i - 1) : 0) -
                               (i < n - 1 ? (double)x.upper[i] * ENTRY(1, l, i + 1) : 0));
      }
      TestLargest(&error[0], fabs(one - (k == l)));
      TestLargest(&error[1], fabs(t - (k == l ? lambda[k] : 0)));
    }
  for (int way = 0; way < 16; way++) {
    const int direction = way & 1, rows = way >> 1 & 1, same = way >> 2 & 1, io = way >> 3 & 1;
    const ptrdiff_t ld = rows ? n : LINES;

    if (io && !single) continue; /* numbers are of the work type else */
    for (size_t i = 0; i < size; i++) {
      const double v = TestUniform() - 0.5;

      if (single && !io) ((float *)in)[i] = (float)v;
      else in[i] = v;
    }
#define NUMBER(v, l, i) \
  (single && !io ? (double)((float *)(v))[rows ? (l)*n + (i) : (i)*LINES + (l)] \
                 : (v)[rows ? (l)*n + (i) : (i)*LINES + (l)])
    PetscCall(PetscArraycpy(out, in, size));
    (rows ? BCREigenRows : BCREigenCols)(e, direction, io, LINES, same ? out : in, ld, out, ld, work);
    for (PetscInt l = 0; l < LINES; l += 37)
      for (PetscInt k = 0; k < n; k++) {
        double v = 0, bound = 0;

        for (PetscInt i = 0; i < n; i++) {
          const double m = direction ? ENTRY(1, i, k) : ENTRY(0, k, i);

          v += m * NUMBER(in, l, i);
          bound += fabs(m * NUMBER(in, l, i));
        }
        TestLargest(&error[2], fabs(NUMBER(out, l, k) - v) / bound);
      }
  }
#undef NUMBER
#undef ENTRY
  TestCheck(error[0] <= 20 * n * eps && error[1] <= 40 * n * eps && error[2] <= 4 * n * eps,
            "%d eigenvectors, hair %d, singular %d, single %d: off by %g, the axis by %g, transforms by %g", (int)n,
            (int)hair, (int)singular, (int)single, error[0], error[1], error[2]);
  PetscCall(PetscFree4(lambda, in, out, work));
  PetscCall(PetscFree3(x.lower, x.diag, x.upper));
  PetscCall(BCREigenDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 2000, seen[2][BCR_PLAN_KINDS] = {{0}};

  PetscCall(PetscInitialize(&argc, &argv, NULL, "Tests plans of both backends without a device"));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(TestSeed());
  PetscCall(random_problems(cases, seen));
  PetscCall(known());
  PetscCall(means());
  PetscCall(rings());
  PetscCall(several());
  for (PetscInt t = 0; t < 60; t++) PetscCall(signs(t));
  for (PetscInt n = 2; n < 48; n++) PetscCall(eigenvectors(n, n % 5 == 4, n % 3 == 0, n % 4 == 1));
  for (int b = 0; b < 2; b++)
    for (int k = 0; k < BCR_PLAN_KINDS; k++)
      if (seen[b][k]) printf("%s: %d of %s\n", b ? "cuda" : "cpu", (int)seen[b][k], BCRPlanKinds[k]);
  PetscCall(PetscFinalize());
  return TestStatus(1, passed, failed);
}
