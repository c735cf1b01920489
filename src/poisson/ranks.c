/*
  Poisson across ranks, see ranks.h and docs/ranks.md: what is decided for all ranks, and the order of a solve. The
  steps are carried out by ranks_cpu.c (host, MPI) and ranks_cuda.c (devices, a transport).

  Rows along the slabs' axis, for one mode of the other axes with eigenvalue L (shift included):

      (e_i + L + low_i + up_i) u_i - low_i u_(i-1) - up_i u_(i+1) = f_i

  with e_i the row's excess, 0 inside a uniform axis. The rows between two interfaces are a block B
  with B 1 = e + L + low_first e_1 + up_last e_m, so with w = B^-1 (e + L) and the corner entries
  t_right = (B^-1)_(m,1) low_first, t_left = (B^-1)_(1,m) up_last the elimination leaves the
  interface row i with

      low' = low_i t_right(block before)      up' = up_i t_left(block after)
      diag' = e_i + L + low_i w_m(block before) + up_i w_1(block after) + low' + up'

  sums of positive terms (docs/method.md, section 5, does the same for separators). The right-hand
  side gains low_i v_m(before) + up_i v_1(after), v the blocks' own solutions.
*/
#include "ranksimpl.h"
#include "../base/agree.h"

/* Ways */

/* A row for each BCRRanksWay, in order of preference. One pass reads and writes the box once where two solves do so
   twice. The core's own lines save the reduced systems a kernel and a wait each. A window takes 0.016 ms less than
   NCCL's messages with two H200 at 4095 x 4095 (docs/ranks.md), and leaves the solve kernels alone. One exchange of all
   parts' right-hand sides has half the latency of sharing out, up to BCR_CUDA_GATHER parts. */
static const struct {
  const char *name;
  BCRRanksPass pass;
  BCRRanksCoupling coupling;
} ways[BCR_RANKS_WAYS] = {
  [BCR_RANKS_ALONE] = {"one rank has all rows",                          BCR_PASS_ONE,   BCR_COUPLING_NONE   },
  [BCR_RANKS_LINES_WINDOW] = {"one pass whose lines exchange in a window",      BCR_PASS_LINES, BCR_COUPLING_WINDOW },
  [BCR_RANKS_LINES_GATHER] = {"one pass whose lines solve the reduced systems", BCR_PASS_LINES, BCR_COUPLING_GATHER },
  [BCR_RANKS_ONE_WINDOW] = {"one pass, all reduced systems from a window",    BCR_PASS_ONE,   BCR_COUPLING_WINDOW },
  [BCR_RANKS_ONE_GATHER] = {"one pass, all reduced systems on each rank",     BCR_PASS_ONE,   BCR_COUPLING_GATHER },
  [BCR_RANKS_ONE_SHARED] = {"one pass, modes shared out evenly",              BCR_PASS_ONE,   BCR_COUPLING_SHARED },
  [BCR_RANKS_ONE_REDUCED] = {"one pass, modes by neighbours or shared out",    BCR_PASS_ONE,   BCR_COUPLING_REDUCED},
  [BCR_RANKS_TWO_WINDOW] = {"two solves, all reduced systems from a window",  BCR_PASS_TWO,   BCR_COUPLING_WINDOW },
  [BCR_RANKS_TWO_GATHER] = {"two solves, all reduced systems on each rank",   BCR_PASS_TWO,   BCR_COUPLING_GATHER },
  [BCR_RANKS_TWO_SHARED] = {"two solves, modes shared out evenly",            BCR_PASS_TWO,   BCR_COUPLING_SHARED },
  [BCR_RANKS_TWO_REDUCED] = {"two solves, modes by neighbours or shared out",  BCR_PASS_TWO,   BCR_COUPLING_REDUCED},
  [BCR_RANKS_MODES] = {"rows exchanged for modes",                       BCR_PASS_ONE,   BCR_COUPLING_MODES  },
};

/* Why a way is not gone; NULL: it can be. Of two reasons that of the coupling, which is the same on all ranks */
static const char *way_refused(BCRRanks r, BCRRanksWay way)
{
  const BCRRanksPass pass = ways[way].pass;

  if (way == BCR_RANKS_ALONE) return r->p.nparts > 1 ? "several ranks have rows" : NULL;
  if ((way == BCR_RANKS_MODES) != r->product) return "products of axes have a way of their own";
  if (r->nocoupling[ways[way].coupling]) return r->nocoupling[ways[way].coupling];
  if (pass == BCR_PASS_LINES && r->nopass[BCR_PASS_ONE]) return r->nopass[BCR_PASS_ONE];
  if (pass == BCR_PASS_LINES && r->singular && (ways[way].coupling != BCR_COUPLING_WINDOW || r->size > r->p.nparts))
    return "lines sum up the parts of a mean in a window, and ranks without rows are told of it by a message";
  if (pass == BCR_PASS_LINES && r->nolines) return r->nolines;
  return r->nopass[pass];
}

static PetscBool way_exists(BCRRanks r, BCRRanksWay way)
{
  return way == BCR_RANKS_ALONE || way == BCR_RANKS_MODES || (r->ops->couplings & (1u << ways[way].coupling))
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* The first way that nothing speaks against */
static PetscErrorCode way_choose(BCRRanks r)
{
  int way = 0;

  PetscFunctionBegin;
  while (way < BCR_RANKS_WAYS && (!way_exists(r, (BCRRanksWay)way) || way_refused(r, (BCRRanksWay)way))) way++;
  PetscCheck(way < BCR_RANKS_WAYS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No way to solve on %" PetscInt_FMT " parts",
             r->p.nparts);
  r->way = (BCRRanksWay)way;
  r->pass = ways[way].pass;
  r->coupling = ways[way].coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ways before the one that is gone, and why not */
static PetscErrorCode ways_describe(BCRRanks r, size_t length, char text[])
{
  size_t at = 0;

  PetscFunctionBegin;
  text[0] = 0;
  for (int way = BCR_RANKS_ALONE + 1; way < (int)r->way; way++) {
    const char *why = way_refused(r, (BCRRanksWay)way);

    if (!way_exists(r, (BCRRanksWay)way) || !why) continue;
    PetscCall(PetscSNPrintf(text + at, length - at, "%s%s: %s", at ? "\n" : "", ways[way].name, why));
    PetscCall(PetscStrlen(text, &at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up */

PetscErrorCode BCRRanksShare(BCRRanks r, PetscErrorCode ierr, const char what[])
{
  PetscFunctionBegin;
  if (r->size > 1) PetscCall(BCRFaultShare(r->comm, ierr, what));
  else PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of the axes' coefficients */
static PetscErrorCode ranks_axes(BCRRanks r, const BCRAxis axes[])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < r->dim; d++) {
    const PetscInt n = axes[d].n;

    if (!axes[d].lower) continue;
    PetscCall(PetscMalloc3(n, &r->x[d].lower, n, &r->x[d].diag, n, &r->x[d].upper));
    PetscCall(PetscArraycpy(r->x[d].lower, axes[d].lower, n));
    PetscCall(PetscArraycpy(r->x[d].diag, axes[d].diag, n));
    PetscCall(PetscArraycpy(r->x[d].upper, axes[d].upper, n));
    if (!axes[d].times) continue;
    PetscCall(PetscMalloc1(n, &r->x[d].times));
    PetscCall(PetscArraycpy(r->x[d].times, axes[d].times, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's rows with the interface row, as a core sees them that goes on on other ranks */
static void ranks_border(BCRRanks r, BCRAxis *a, BCRCoreBorder *border)
{
  const BCRSlabPart *mine = BCRRanksMine(r), *before = BCRRanksBefore(r);
  const PetscInt first = mine->first, last = mine->first + mine->interior - 1;

  a->n = mine->m;
  if (a->lower) {
    a->lower += first;
    a->diag += first;
    a->upper += first;
    if (a->times) a->times += first;
  }
  border->axis = r->axis;
  border->open[0] = before ? PETSC_TRUE : PETSC_FALSE;
  border->open[1] = mine->has;
  for (int s = 0; s < 2; s++) {
    if (border->open[s]) a->end[s] = a->lower ? BCR_END_GENERAL : BCREndAtSeparator();
  }
  border->tointerface[0] = border->open[0] ? r->p.low[first] : 0;
  border->tointerface[1] = border->open[1] ? r->p.up[last] : 0;
  border->frominterface[0] = border->open[0] ? r->p.up[before->first + before->interior] : 0;
  border->frominterface[1] = border->open[1] ? r->p.low[last + 1] : 0;
  border->constant = r->constant;
}

/* The core of this rank's rows: for one pass, unless that is known to be impossible, else for two solves of
   those between the interfaces */
static PetscErrorCode ranks_core(BCRRanks r)
{
  const PetscBool several = r->p.nparts > 1 ? PETSC_TRUE : PETSC_FALSE;
  const BCRSlabPart *mine = BCRRanksMine(r);
  PetscReal *zero = NULL;
  BCRAxis axes[3];

  PetscFunctionBegin;
  if (r->product) {
    PetscCall(r->ops->core_create(r, r->x, NULL, (PetscReal)r->shift, r->singular, &r->core, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!mine || !mine->interior) {
    r->nopass[BCR_PASS_ONE] = "a slab of one row, which is an interface, has nothing to eliminate";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt d = 0; d < r->dim; d++) axes[d] = r->x[d];
  if (several && !r->nopass[BCR_PASS_ONE]) {
    BCRCoreBorder border;

    ranks_border(r, &axes[r->axis], &border);
    PetscCall(
      r->ops->core_create(r, axes, &border, (PetscReal)r->shift, r->singular, &r->core, &r->nopass[BCR_PASS_ONE]));
    if (r->core) PetscFunctionReturn(PETSC_SUCCESS);
    axes[r->axis] = r->x[r->axis];
  }
  if (several) PetscCall(BCRSlabRowsAxis(&r->p, &axes[r->axis], &zero, &r->single));
  BCRCallElse(r->ops->core_create(r, axes, NULL, (PetscReal)(r->shift + r->single), several ? PETSC_FALSE : r->singular,
                                  &r->core, NULL),
              (void)PetscFree(zero));
  PetscCall(PetscFree(zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ranks_share(BCRRanks r)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(2 * (size_t)r->size, &r->rows));
  for (PetscInt p = 0; p < r->p.nparts; p++) {
    r->rows[r->p.part[p].rank] = r->p.part[p].m;
    r->rows[r->size + r->p.part[p].rank] = r->p.part[p].first;
  }
  r->share.comm = r->comm;
  r->share.axis = r->axis;
  r->share.rows = r->rows;
  r->share.rowoff = r->rows + r->size;
  r->share.transport = r->transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's part, no rank waiting for another */
static PetscErrorCode ranks_local(BCRRanks r)
{
  PetscFunctionBegin;
  if (r->product) PetscCall(ranks_share(r));
  else if (r->p.nparts > 1) PetscCall(r->ops->modes(r));
  /* ranks without rows have their share of modes */
  if (r->p.mine >= 0 || (r->product && r->p.nparts > 1)) PetscCall(ranks_core(r));
  PetscCall(r->ops->local(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ranks_agree(BCRRanks r)
{
  PetscFunctionBegin;
  if (r->p.nparts > 1 && !r->product && r->ops->agree) PetscCall(r->ops->agree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ranks_fill(BCRRanks r, const BCRRanksSpec *spec)
{
  PetscFunctionBegin;
  r->comm = MPI_COMM_NULL;
  r->size = 1;
  if (spec->comm != MPI_COMM_NULL) {
    PetscCall(PetscCommDuplicate(spec->comm, &r->comm, &r->tag));
    PetscCallMPI(MPI_Comm_rank(r->comm, &r->rank));
    PetscCallMPI(MPI_Comm_size(r->comm, &r->size));
  }
  r->axis = spec->axis;
  r->dim = spec->dim;
  r->shift = spec->singular ? 0 : (double)spec->shift;
  r->factor = 1;
  r->product = spec->mixed || spec->waves ? PETSC_TRUE : PETSC_FALSE;
  r->waves = spec->waves;
  r->pair = spec->pair;
  if (spec->mixed) PetscCall(PetscArraycpy(r->mixed, spec->mixed, 8));
  r->singular = spec->singular;
  r->halo = spec->halo;
  r->io = spec->io;
  r->options = *spec->options;
  r->stream = spec->stream;
  r->transport = spec->transport;
  r->constant = -1;
  r->no[0] = r->no[1] = 1;
  for (PetscInt d = 0; d < r->dim; d++) {
    r->stride[d] = spec->stride[d];
    r->x[d] = spec->axes[d];
    r->x[d].lower = r->x[d].diag = r->x[d].upper = r->x[d].weight = r->x[d].times = NULL;
    if (d != r->axis) {
      r->other[r->nother] = d;
      r->no[r->nother++] = r->x[d].n;
    }
  }
  r->nmodes = r->no[0] * r->no[1];
  r->nbatch = 1;
  r->batch[1] = r->no[1];
  PetscCall(BCRRanksShare(r, r->ops->create(r), BCR_NO_MEMORY));
  PetscCall(BCRRanksShare(r, ranks_axes(r, spec->axes), BCR_NO_MEMORY));
  PetscCall(BCRSlabRowsCreate(r->comm, r->axis, spec->first, spec->m, &r->x[r->axis], &r->p));
  /* a schedule that is too short there, say */
  PetscCall(BCRRanksShare(r, ranks_local(r), r->ops->failed));
  PetscCall(ranks_agree(r));
  if (r->p.nparts > 1 && !r->product) PetscCall(r->ops->connect(r));
  r->stale = PETSC_TRUE;
  if (!r->ops->async) PetscCall(BCRRanksSetUp(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksCreate(const BCRRanksOps *ops, const BCRRanksSpec *spec, BCRRanks *ranks)
{
  BCRRanks r = NULL;
  PetscErrorCode ierr = PetscNew(&r);

  PetscFunctionBegin;
  *ranks = NULL;
  if (spec->comm != MPI_COMM_NULL) ierr = BCRFaultShare(spec->comm, ierr, BCR_NO_MEMORY);
  PetscCall(ierr);
  r->ops = ops;
  BCRCallElse(ranks_fill(r, spec), (void)BCRRanksDestroy(&r));
  *ranks = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass may have become impossible for another shift: two solves then, from now on */
static PetscErrorCode ranks_passes(BCRRanks r)
{
  PetscFunctionBegin;
  if (!r->core || r->nopass[BCR_PASS_ONE] || !r->ops->core_passes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(r->ops->core_passes(r->core, r->nopass));
  if (!r->nopass[BCR_PASS_ONE]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(r->ops->core_destroy(&r->core));
  PetscCall(ranks_core(r));
  PetscCall(r->ops->core_factor(r->core, (PetscReal)r->factor));
  PetscCall(r->ops->core_setup(r->core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSetUp(BCRRanks r)
{
  PetscFunctionBegin;
  if (r->stale) PetscCall(ranks_agree(r)); /* a shift may have changed the plans */
  if (r->core && r->ops->core_setup) PetscCall(r->ops->core_setup(r->core));
  if (!r->stale) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->p.nparts > 1 && r->p.mine >= 0 && !r->product) PetscCall(ranks_passes(r));
  PetscCall(way_choose(r));
  if (r->p.nparts > 1 && !r->product) {
    char refused[2048];

    PetscCall(r->ops->tables(r));
    PetscCall(ways_describe(r, sizeof(refused), refused));
    PetscCall(PetscInfo(NULL, "Rank %d of %d: %s%s%s\n", r->rank, r->size, ways[r->way].name,
                        refused[0] ? ". Not by\n" : "", refused));
  }
  r->stale = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSetShift(BCRRanks r, PetscReal shift)
{
  PetscFunctionBegin;
  r->shift = r->singular ? 0 : (double)shift;
  PetscCall(BCRRanksShare(r, r->core ? r->ops->core_shift(r->core, (PetscReal)(r->shift + r->single)) : PETSC_SUCCESS,
                          BCR_NO_MEMORY));
  r->stale = PETSC_TRUE;
  if (!r->ops->async) PetscCall(BCRRanksSetUp(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSetFactor(BCRRanks r, PetscReal factor)
{
  PetscFunctionBegin;
  r->factor = (double)factor;
  if (r->ops->async) r->stale = PETSC_TRUE; /* the core's arrays are made anew */
  if (r->core) PetscCall(r->ops->core_factor(r->core, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksDestroy(BCRRanks *ranks)
{
  BCRRanks r = *ranks;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->state) PetscCall(r->ops->destroy(r));
  if (r->core) PetscCall(r->ops->core_destroy(&r->core));
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscFree3(r->x[d].lower, r->x[d].diag, r->x[d].upper));
    PetscCall(PetscFree(r->x[d].times));
  }
  PetscCall(BCRSlabRowsDestroy(&r->p));
  PetscCall(PetscFree(r->rows));
  if (r->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&r->comm));
  PetscCall(PetscFree(*ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve */

/* A step ends, where somebody asks how long it took */
static PetscErrorCode mark(BCRRanks r, void *stream)
{
  PetscFunctionBegin;
  if (r->ops->mark) PetscCall(r->ops->mark(r, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSolve(BCRRanks r, void *stream, const void *f, void *u)
{
  const BCRRanksOps *ops = r->ops;

  PetscFunctionBegin;
  if (r->p.nparts == 1 || r->product) {
    PetscCall(ops->alone(r, stream, f, u));
    if (r->p.nparts > 1 && r->singular) PetscCall(ops->zero_mean(r, stream, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ops->async) PetscCall(BCRRanksSetUp(r));
  PetscCall(mark(r, stream));
  for (PetscInt b = 0; b < r->nbatch; b++) {
    PetscCall(ops->eliminate(r, stream, b, f, u));
    PetscCall(mark(r, stream));
    PetscCall(ops->exchange(r, stream, b));
  }
  PetscCall(mark(r, stream));
  for (PetscInt b = 0; b < r->nbatch; b++) {
    PetscCall(ops->reduce(r, stream, b, u));
    PetscCall(mark(r, stream));
    PetscCall(ops->back(r, stream, b, f, u));
  }
  if (r->singular) PetscCall(ops->zero_mean(r, stream, u));
  PetscCall(mark(r, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksGetRemoved(BCRRanks r, const double **removed)
{
  PetscFunctionBegin;
  PetscCall(r->ops->removed(r, removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksGetPlan(BCRRanks r, BCRPlan *plan)
{
  PetscFunctionBegin;
  *plan = NULL;
  if (r->core) PetscCall(r->ops->core_plan(r->core, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksGetInfo(BCRRanks r, BCRRanksInfo *info)
{
  const BCRSlabRows *p = &r->p;
  char coupling[256] = "";

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->way = r->way;
  info->onepass = r->way != BCR_RANKS_ALONE && r->pass != BCR_PASS_TWO ? PETSC_TRUE : PETSC_FALSE;
  if (r->core) {
    PetscCall(r->ops->core_info(r->core, &info->core));
    info->workspace = info->core.workspace;
    info->tables = info->core.tables;
    info->flops = (r->pass == BCR_PASS_TWO ? 2 : 1) * info->core.flops;
  }
  PetscCall(r->ops->info(r, info, sizeof(coupling), coupling));
  if (r->comm == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->nparts == 1) {
    PetscCall(PetscSNPrintf(info->what, sizeof(info->what), "rank %d has all rows along %c", p->part[0].rank,
                            'x' + (int)r->axis));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->product) {
    PetscCall(PetscSNPrintf(info->what, sizeof(info->what),
                            "slabs along %c on %" PetscInt_FMT
                            " ranks; rows of all modes are exchanged for all rows of a share of the modes, and back",
                            'x' + (int)r->axis, p->nparts));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSNPrintf(info->what, sizeof(info->what),
                          "slabs along %c on %" PetscInt_FMT " ranks, %" PetscInt_FMT " interface %s; %s; %s",
                          'x' + (int)r->axis, p->nparts, p->ninterface, r->dim == 3 ? "planes" : "rows", coupling,
                          info->onepass ? "one pass" : "two solves"));
  PetscCall(ways_describe(r, sizeof(info->refused), info->refused));
  PetscFunctionReturn(PETSC_SUCCESS);
}
