/*
  Transforms of the core on a CUDA device: tables by the plan, launches.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

/* The matrices of a transform as a product */
static PetscErrorCode product_tables(BCRDeviceArena *arena, BCRStream stream, const BCRCudaModes *modes,
                                     BCRCudaProducts *m)
{
  PetscFunctionBegin;
  for (int synthesis = 0; synthesis < (m->kind == BCR_CUDA_PRODUCT_ONE ? 1 : 2); synthesis++) {
    double *table;

    PetscCall(BCRDeviceArenaGet(arena, BCRCudaProductsCount(m) * sizeof(double), "tables", &table));
    PetscCallBCRCuda(BCRCudaProductsTable(stream, modes, m, synthesis, table));
    m->table[synthesis] = table;
  }
  if (m->kind == BCR_CUDA_PRODUCT_ONE) m->table[1] = m->table[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode long_tables(BCRDeviceCore c, PetscInt d)
{
  BCRCudaLong *l = &c->longline[d];
  size_t bytes;

  PetscFunctionBegin;
  (void)BCRCudaLongPlan(&c->modes[d], c->cuda.shared, l);
  bytes = 2 * (size_t)l->M * sizeof(double);
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, bytes, "tables", &l->root));
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, bytes, "tables", &l->spectrum));
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, bytes * (size_t)l->pairs, "the workspace", &l->x));
  PetscCallBCRCuda(BCRCudaLongTables(c->stream, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of the transform along a uniform axis by fft.cu or dense.cu */
static PetscErrorCode modes_tables(BCRDeviceArena *arena, BCRStream stream, PetscBool single, PetscBool fft,
                                   BCRCudaModes *m)
{
  double *tab;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(4 * m->P, &tab));
  for (int i = 0; i < 4 * m->P; i++) { /* an eighth of the period at most goes into the sine or cosine */
    const int q = i / m->P, r = i % m->P;
    const double v = q % 2 ? cos(0.5 * M_PI * r / m->P) : sin(0.5 * M_PI * r / m->P);

    tab[i] = q < 2 ? v : -v;
  }
  PetscCall(BCRDeviceArenaPut(arena, stream, single, 4 * m->P, tab, &m->tab));
  PetscCall(PetscFree(tab));
  if (fft) {
    const int nw = BCRCudaFftTwiddles(m->P, NULL);
    double *w;

    PetscCall(PetscMalloc1(2 * nw, &w));
    (void)BCRCudaFftTwiddles(m->P, w);
    PetscCall(BCRDeviceArenaPut(arena, stream, PETSC_FALSE, 2 * nw, w, &m->twiddle));
    PetscCall(PetscFree(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Eigenvalues and norms by themselves: BCRDeviceModesCreate() has no plan */
PetscErrorCode BCRDeviceModesCreate(PetscInt n, const BCREnd end[2], BCRStream stream, BCRDeviceModes *m,
                                    double lambda[], double norm[])
{
  char name[64];
  int major, minor, sms;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &m->shared));
  m->shared -= BCR_CUDA_SHARED_RESERVED;
  m->sine = BCREndIsZero(end[0]) && BCREndIsZero(end[1]) ? PETSC_TRUE : PETSC_FALSE;
  BCRPlanCudaModes(n, end, &m->modes);
  PetscCall(BCRPlanModes(n, end, lambda, norm));
  m->fft = m->modes.P > BCR_PLAN_DENSE_MOST && BCRCudaFftPossible(m->modes.P, 0, m->shared) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(modes_tables(&m->arena, stream, PETSC_FALSE, m->fft, &m->modes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceModesApply(const BCRDeviceModes *m, BCRStream stream, int synthesis, const BCRCudaLines *lines,
                                   const double *f, double *u)
{
  const int way = m->sine ? 0 : synthesis; /* an analysis is cheaper */

  PetscFunctionBegin;
  if (m->fft) PetscCallBCRCuda(BCRCudaFft(stream, &m->modes, way, 0, m->shared, lines, f, lines, u, NULL, NULL, 0, 0));
  else PetscCallBCRCuda(BCRCudaDense(stream, &m->modes, way, 0, lines, f, lines, u, NULL, NULL, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceModesDestroy(BCRDeviceModes *m)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaFree(&m->arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plan and tables of a transform by passes, of rows (prime) or along axis d by rowfft.cu. modes: [2 n] the order of its
   modes, then their signs */
static PetscErrorCode passes_tables(BCRDeviceCore c, PetscInt d, BCRCudaDstPrime *prime, BCRCudaRowFft *fft,
                                    int modes[])
{
  const PetscInt n = c->plan->n[d];
  const BCREnd end = c->plan->axis[d].end[0];
  const int P = c->modes[d].P, shared = c->cuda.shared;
  const void **wp = prime ? &prime->w : &fft->w;
  const int **ip = prime ? &prime->index : &fft->index;
  double *w = NULL;
  int *index = NULL, nw = 0, ni = 0, ok = 1;
  void *q;

  PetscFunctionBegin;
  for (int fill = 0; fill < 2 && ok; fill++) { /* sizes, then tables */
    if (fill) PetscCall(PetscMalloc2(2 * nw, &w, ni, &index));
    ok = prime ? BCRCudaDstPrimePlan(P, c->single, shared, prime, w, index, fill ? modes : NULL)
               : BCRCudaRowFftPlan((int)n, end, d > 0, c->single, shared, fft, w, index, fill ? modes : NULL);
    nw = prime ? prime->nw : fft->nw;
    ni = prime ? prime->ni : fft->ni;
  }
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "No memory for the tables of a transform of %" PetscInt_FMT " unknowns", n);
  PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * nw, w, wp));
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, (size_t)ni * sizeof(int), "tables", &q));
  PetscCallBCRCuda(BCRCudaPut(q, index, (size_t)ni * sizeof(int), c->stream));
  *ip = (const int *)q;
  PetscCall(PetscFree2(w, index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table of a transform along rows that has one: how many complex numbers, and these, and the modes, if given */
static int row_table(BCRDeviceCore c, double *w, int *modes)
{
  const int P = c->modes[0].P;
  const BCREnd *end = c->plan->axis[0].end;

  if (c->plan->rowsby == BCR_TRANSFORM_SINE) return BCRCudaDstTable(P, c->single, w);
  if (c->plan->rowsby == BCR_TRANSFORM_CHIRP) return BCRCudaDstChirpTable(P, BCRPlanCudaEven(c->plan), c->single, w);
  return BCRCudaDstConvolveTable((int)c->plan->n[0], end, c->single, w, modes);
}

/* Which mode a position has, and of what size. modes: [2 n] as made with the tables, or NULL */
static PetscErrorCode row_order(BCRDeviceCore c, const int modes[])
{
  const BCRTransformKind by = c->plan->rowsby;
  const int P = c->modes[0].P, even = BCRPlanCudaEven(c->plan), n = (int)c->plan->n[0];
  const PetscBool own = BCRDeviceRowsOwn(c);
  BCRDeviceOrder *o = &c->roworder;
  int *sign;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(PetscMax(P, n) + 1, &o->mode, PetscMax(P, n) + 1, &o->gain, PetscMax(P, n) + 1, &o->norm));
  PetscCall(PetscMalloc1(PetscMax(P, n) + 1, &sign));
  o->count = n;
  for (PetscInt k = 0; k <= PetscMax(P, n); k++) {
    o->mode[k] = modes && k < n ? modes[k] : (int)k;
    sign[k] = modes && k < n ? modes[n + k] : 1;
  }
  if (by == BCR_TRANSFORM_SINE) o->count = BCRCudaDstOrder(P, even, c->single, o->mode);
  if (by == BCR_TRANSFORM_CHIRP) o->count = BCRCudaDstChirpOrder(P, even, o->mode);
  if (by == BCR_TRANSFORM_SINE && !even) (void)BCRCudaDstSigns(P, c->single, sign);
  for (PetscInt k = 0; k < o->count; k++) {
    const int m = o->mode[k];
    const PetscBool ends = even && (m == 0 || m == P) ? PETSC_TRUE : PETSC_FALSE; /* halved by either direction */

    o->gain[k] = own && !ends ? 2 * sign[k] : (own ? 1 : sign[k]);
    o->norm[k] = m < 0 ? 0 : (own ? (ends ? 0.5 : 0.25) : 1); /* there and back it is twice too large, each */
  }
  PetscCall(PetscFree(sign));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rows_tables(BCRDeviceCore c)
{
  const PetscInt n = c->plan->n[0];
  int *modes = NULL;
  double *w;

  PetscFunctionBegin;
  switch (c->plan->rowsby) {
  case BCR_TRANSFORM_PRIME:
  case BCR_TRANSFORM_ROWS:
    PetscCall(PetscMalloc1(2 * n, &modes));
    PetscCall(passes_tables(c, 0, c->plan->rowsby == BCR_TRANSFORM_PRIME ? &c->prime : NULL, &c->rowfft, modes));
    break;
  case BCR_TRANSFORM_SINE:
  case BCR_TRANSFORM_CHIRP:
  case BCR_TRANSFORM_CONVOLVE: {
    const int count = row_table(c, NULL, NULL);

    if (c->plan->rowsby == BCR_TRANSFORM_CONVOLVE) PetscCall(PetscMalloc1(2 * n, &modes));
    PetscCall(PetscMalloc1(2 * count, &w));
    (void)row_table(c, w, modes);
    PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * count, w, &c->rowtable));
    PetscCall(PetscFree(w));
    break;
  }
  case BCR_TRANSFORM_NONE:
  case BCR_TRANSFORM_HOST:
  case BCR_TRANSFORM_PRODUCT:
  case BCR_TRANSFORM_FFT:
  case BCR_TRANSFORM_COLUMNS:
  case BCR_TRANSFORM_ACROSS:
  case BCR_TRANSFORM_LONG:
  case BCR_TRANSFORM_EIGEN:
  case BCR_TRANSFORM_DENSE: /* those of the axis */
    break;
  }
  PetscCall(row_order(c, modes));
  PetscCall(PetscFree(modes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode across_tables(BCRDeviceCore c, PetscInt d, BCRTransformKind by)
{
  const PetscInt n = c->plan->n[d];
  BCRDeviceAcross *a = &c->across[d];

  PetscFunctionBegin;
  if (by == BCR_TRANSFORM_ROWS) {
    PetscCall(PetscMalloc1(2 * n, &a->mode));
    PetscCall(passes_tables(c, d, NULL, &a->rows, a->mode));
  } else if (by == BCR_TRANSFORM_ACROSS) {
    const BCREnd end = c->plan->axis[d].end[0];
    double *w;

    PetscCall(PetscMalloc1(2 * n, &a->mode));
    (void)BCRCudaChirpAcrossPlan((int)n, end, c->single, c->cuda.shared, &a->chirp, NULL, NULL);
    PetscCall(PetscMalloc1(2 * a->chirp.nw, &w));
    PetscCheck(BCRCudaChirpAcrossPlan((int)n, end, c->single, c->cuda.shared, &a->chirp, w, a->mode), PETSC_COMM_SELF,
               PETSC_ERR_MEM, "No memory for the tables of a transform of %" PetscInt_FMT " unknowns", n);
    PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * a->chirp.nw, w, &a->chirp.w));
    PetscCall(PetscFree(w));
  } else if (by == BCR_TRANSFORM_COLUMNS) {
    const int N = c->modes[d].P, L = BCRCudaBoxLength(N, c->single);

    for (int chirp = 0; chirp < 2; chirp++) {
      int count = chirp ? BCRCudaBoxChirp(N, L, NULL) : BCRCudaBoxRoots(L, NULL);
      double *w;

      if (count < 1) continue;
      PetscCall(PetscMalloc1(2 * count, &w));
      count = chirp ? BCRCudaBoxChirp(N, L, w) : BCRCudaBoxRoots(L, w);
      PetscCheck(count > 0, PETSC_COMM_SELF, PETSC_ERR_MEM,
                 "No memory for the tables of a transform of %" PetscInt_FMT " unknowns", n);
      PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * count, w,
                                  chirp ? &a->columns.chirp : &a->columns.roots));
      PetscCall(PetscFree(w));
    }
    a->columns.N = N;
    a->columns.L = L;
    a->columns.even = c->modes[d].cosine;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceTransformsCreate(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    if (p->axis[d].lower) continue;
    BCRPlanCudaModes(p->n[d], p->axis[d].end, &c->modes[d]);
    PetscCall(modes_tables(&c->fixedtables, c->stream, c->single,
                           p->transform[d] == BCR_TRANSFORM_FFT ? PETSC_TRUE : PETSC_FALSE, &c->modes[d]));
    if (p->transform[d] == BCR_TRANSFORM_PRODUCT) {
      (void)BCRCudaProductsPlan(&c->modes[d], c->cuda.shared, &c->matrix[d]);
      if (BCRPlanCudaProductsAcross(p, d)) (void)BCRCudaProductsAcross(&c->modes[d], c->cuda.shared, &c->matrix[d]);
      PetscCall(product_tables(&c->fixedtables, c->stream, &c->modes[d], &c->matrix[d]));
    } else if (p->transform[d] == BCR_TRANSFORM_LONG) {
      PetscCall(long_tables(c, d));
    }
  }
  if ((p->dim > 1 || (p->dim && p->product)) && !p->axis[0].lower) PetscCall(rows_tables(c));
  if (p->across >= 0 && !p->axis[p->across].lower && !p->product) PetscCall(across_tables(c, p->across, p->acrossby));
  for (PetscInt d = 1; d < p->dim && p->product; d++) PetscCall(across_tables(c, d, p->transform[d]));
  PetscCall(BCRDeviceEigenCreate(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceTransformsDestroy(BCRDeviceCore c)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceEigenDestroy(c));
  PetscCall(PetscFree3(c->roworder.mode, c->roworder.gain, c->roworder.norm));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(c->across[d].mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

BCRCudaLines BCRDeviceLinesAlong(BCRDeviceCore c, PetscInt d, const ptrdiff_t stride[3])
{
  const PetscInt a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2, dim = c->plan->dim;
  BCRCudaLines l;

  l.na = (int)(a < dim ? c->plan->n[a] : 1);
  l.nb = (int)(b < dim ? c->plan->n[b] : 1);
  l.sa = a < dim ? stride[a] : 0;
  l.sb = b < dim ? stride[b] : 0;
  l.s = d < dim ? stride[d] : 1;
  return l;
}

/* of lines that are neighbours in memory */
static int across_transform(BCRDeviceCore c, BCRStream stream, PetscInt d, BCRTransformKind by, int synthesis,
                            const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u)
{
  BCRCudaBoxPass p = c->across[d].columns;

  if (by == BCR_TRANSFORM_ROWS)
    return BCRCudaRowFftAcross(stream, &c->across[d].rows, synthesis, c->single, fl, f, ul, u);
  if (by == BCR_TRANSFORM_ACROSS)
    return BCRCudaChirpAcrossApply(stream, &c->across[d].chirp, synthesis, c->single, fl, f, ul, u);
  p.mean = BCRDeviceColumnsMean(c, synthesis ? PETSC_TRUE : PETSC_FALSE);
  p.nx = fl->na;
  p.nb = fl->nb;
  p.frow = fl->s;
  p.fplane = fl->sb;
  p.urow = ul->s;
  p.uplane = ul->sb;
  return BCRCudaBoxColumns(stream, &p, c->single, f, u);
}

/* of the axis' own kind; extra: BCRCudaFft() */
static int axis_transform(BCRDeviceCore c, BCRStream stream, PetscInt d, int synthesis, const BCRCudaLines *fl,
                          const void *f, const BCRCudaLines *ul, void *u, const void *extra)
{
  const BCRAxis *a = &c->plan->axis[d];
  const int *of = extra ? c->extraof : NULL;
  const ptrdiff_t ld = extra ? c->ldd : 0, plane = extra ? c->level0.eplane : 0;

  if (c->plan->transform[d] == BCR_TRANSFORM_EIGEN) return BCRDeviceEigenApply(c, stream, d, synthesis, fl, f, ul, u);
  if (d > 0 && BCRDeviceDoubles(c->plan->transform[d]))
    return across_transform(c, stream, d, c->plan->transform[d], synthesis, fl, f, ul, u);
  /* between two Dirichlet ends both are the same, and an analysis is cheaper */
  if (synthesis && BCREndIsZero(a->end[0]) && BCREndIsZero(a->end[1])) synthesis = 0;
  if (c->plan->transform[d] == BCR_TRANSFORM_PRODUCT)
    return BCRCudaProductsApply(stream, &c->matrix[d], synthesis, c->single, fl, f, ul, u, extra, of, ld, plane);
  if (c->plan->transform[d] == BCR_TRANSFORM_FFT)
    return BCRCudaFft(stream, &c->modes[d], synthesis, c->single, c->cuda.shared, fl, f, ul, u, extra, of, ld, plane);
  if (c->plan->transform[d] == BCR_TRANSFORM_LONG)
    return BCRCudaLongApply(stream, &c->longline[d], synthesis, c->single, fl, f, ul, u, extra, of, ld, plane);
  return BCRCudaDense(stream, &c->modes[d], synthesis, c->single, fl, f, ul, u, extra, of, ld, plane);
}

int BCRDeviceTransform(BCRDeviceCore c, BCRStream stream, PetscInt d, int synthesis, const BCRCudaLines *fl,
                       const void *f, const BCRCudaLines *ul, void *u)
{
  return axis_transform(c, stream, d, synthesis, fl, f, ul, u, NULL);
}

int BCRDeviceTransformRows(BCRDeviceCore c, BCRStream stream, int synthesis, const BCRCudaLines *fl, const void *f,
                           const BCRCudaLines *ul, void *u, const void *extra, int more)
{
  const int P = c->modes[0].P, even = BCRPlanCudaEven(c->plan), sms = c->cuda.sms, *of = c->extraof;
  const BCREnd *end = c->plan->axis[0].end;
  const ptrdiff_t ld = c->ldd, plane = extra ? c->level0.eplane : 0;

  switch (c->plan->rowsby) {
  case BCR_TRANSFORM_PRIME:
    return BCRCudaDstPrimeApply(stream, &c->prime, synthesis, c->single, sms, fl, f, ul, u, extra, of, ld, plane, more);
  case BCR_TRANSFORM_ROWS:
    return BCRCudaRowFftApply(stream, &c->rowfft, synthesis, c->single, sms, fl, f, ul, u, extra, of, ld, plane, more);
  case BCR_TRANSFORM_SINE:
    return BCRCudaDst(stream, P, even, synthesis, c->single, c->rowtable, sms, fl, f, ul, u, extra, of, ld, plane,
                      more);
  case BCR_TRANSFORM_CHIRP:
    return BCRCudaDstChirp(stream, P, even, synthesis, c->single, c->rowtable, sms, fl, f, ul, u, extra, of, ld, plane,
                           more);
  case BCR_TRANSFORM_CONVOLVE:
    return BCRCudaDstConvolve(stream, (int)c->plan->n[0], end, synthesis, c->single, c->rowtable, sms, fl, f, ul, u,
                              extra, of, ld, plane, more);
  case BCR_TRANSFORM_NONE:
  case BCR_TRANSFORM_HOST:
  case BCR_TRANSFORM_PRODUCT:
  case BCR_TRANSFORM_FFT:
  case BCR_TRANSFORM_COLUMNS:
  case BCR_TRANSFORM_ACROSS:
  case BCR_TRANSFORM_LONG:
  case BCR_TRANSFORM_EIGEN:
  case BCR_TRANSFORM_DENSE:
    break;
  }
  return axis_transform(c, stream, 0, synthesis, fl, f, ul, u, extra);
}

int BCRDeviceTransformAcross(BCRDeviceCore c, BCRStream stream, int synthesis, const BCRCudaLines *fl, const void *f,
                             const BCRCudaLines *ul, void *u)
{
  const PetscInt d = c->plan->across;

  if (BCRDeviceAcrossDoubles(c)) return across_transform(c, stream, d, c->plan->acrossby, synthesis, fl, f, ul, u);
  return BCRDeviceTransform(c, stream, d, synthesis, fl, f, ul, u);
}
#endif
