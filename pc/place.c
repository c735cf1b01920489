#include "place.h"
#include "options.h"
#include "../src/base/log.h"
#include <petscdmcomposite.h>
#include <petscdmstag.h>

/* -------- options -------- */

static PetscErrorCode parse(PC pc, const char option[], const char text[], const char none[], PetscInt *n, void *values)
{
  static const char wrong[] = "give one to three numbers, such as 64,64,32";

  PetscFunctionBegin;
  PetscCall(BCROptionIntegers(pc, option, text, none, wrong, wrong, 3, n, (PetscInt *)values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceParseGrid(PC pc, const char option[], const char text[], PetscInt *n, void *values)
{
  PetscFunctionBegin;
  PetscCall(parse(pc, option, text, "auto", n, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceParseProcessors(PC pc, const char option[], const char text[], PetscInt *n, void *values)
{
  PetscFunctionBegin;
  PetscCall(parse(pc, option, text, "natural", n, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceCheck(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscInt *number = (const PetscInt *)values;

  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "A grid has 1 to 3 axes, not %" PetscInt_FMT, n);
  for (PetscInt d = 0; d < n; d++)
    PetscCheck(number[d] > 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s: %" PetscInt_FMT " along %c: it must be at least 1", option ? option : "Grid", number[d],
               (char)('x' + d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- grids of DMs -------- */

/* *dm: that of the grid, which may be the only one of a DMCOMPOSITE; NULL where there is no grid that we know */
static PetscErrorCode dm_with_grid(DM *dm)
{
  PetscBool is;

  PetscFunctionBegin;
  if (!*dm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)*dm, DMCOMPOSITE, &is));
  if (is) {
    PetscInt n;

    PetscCall(DMCompositeGetNumberDM(*dm, &n));
    if (n == 1) PetscCall(DMCompositeGetEntriesArray(*dm, dm));
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)*dm, DMSTAG, &is));
  if (is) {
    PetscInt dim, dof[4];

    PetscCall(DMGetDimension(*dm, &dim));
    PetscCall(DMStagGetDOF(*dm, &dof[0], &dof[1], &dof[2], &dof[3]));
    for (PetscInt k = 0; k < dim; k++)
      if (dof[k]) is = PETSC_FALSE;
  } else PetscCall(PetscObjectTypeCompare((PetscObject)*dm, DMDA, &is));
  if (!is) *dm = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elements have all unknowns: their numbers are those of a DMDA */
static PetscErrorCode grid_of_stag(DM dm, MPI_Comm comm, BCRGrid *grid)
{
  PetscInt dim, dof[4], N[3], parts[3];
  const PetscInt *widths[3] = {NULL, NULL, NULL};
  DMBoundaryType bt[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  PetscBool periodic[3];
  PetscObjectId id;

  PetscFunctionBegin;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMStagGetDOF(dm, &dof[0], &dof[1], &dof[2], &dof[3]));
  PetscCall(DMStagGetGlobalSizes(dm, &N[0], &N[1], &N[2]));
  PetscCall(DMStagGetNumRanks(dm, &parts[0], &parts[1], &parts[2]));
  PetscCall(DMStagGetOwnershipRanges(dm, &widths[0], &widths[1], &widths[2]));
  PetscCall(DMStagGetBoundaryTypes(dm, &bt[0], &bt[1], &bt[2]));
  PetscCall(PetscObjectGetId((PetscObject)dm, &id));
  for (PetscInt d = 0; d < dim; d++) periodic[d] = (PetscBool)(bt[d] == DM_BOUNDARY_PERIODIC);
  PetscCall(BCRGridCreateBoxes(comm, id, dim, dof[dim], N, periodic, parts, widths, grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all ranks together. dm: one with a grid */
static PetscErrorCode dm_unknowns(DM dm, PetscInt *n)
{
  PetscInt dof[4] = {1, 1, 1, 1}, N[3] = {1, 1, 1}, dim;
  PetscBool isda;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
  if (isda) {
    PetscCall(DMDAGetInfo(dm, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, &dof[0], NULL, NULL, NULL, NULL, NULL));
    if (size == 1) PetscCall(DMDAGetCorners(dm, NULL, NULL, NULL, &N[0], &N[1], &N[2])); /* PCASM's subdomains */
    dof[dim] = dof[0];
  } else {
    PetscCall(DMGetDimension(dm, &dim));
    PetscCall(DMStagGetDOF(dm, &dof[0], &dof[1], &dof[2], &dof[3]));
    PetscCall(DMStagGetGlobalSizes(dm, &N[0], &N[1], &N[2]));
  }
  *n = dof[dim];
  for (PetscInt d = 0; d < dim; d++) *n *= N[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *dm: NULL where it has no grid of so many rows; *n: what it has then, 0: no grid */
static PetscErrorCode dm_with_rows(PetscInt rows, DM *dm, PetscInt *n)
{
  PetscFunctionBegin;
  *n = 0;
  PetscCall(dm_with_grid(dm));
  if (*dm) PetscCall(dm_unknowns(*dm, n));
  if (*n != rows) *dm = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of the first of these vectors that has one with a grid; NULL */
static PetscErrorCode vecs_dm(Vec b, Vec x, DM *dm)
{
  Vec v[2] = {b, x};
  PetscInt rows, n;

  PetscFunctionBegin;
  *dm = NULL;
  for (int k = 0; k < 2 && !*dm; k++) {
    if (!v[k]) continue;
    PetscCall(VecGetDM(v[k], dm));
    PetscCall(VecGetSize(v[k], &rows));
    PetscCall(dm_with_rows(rows, dm, &n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- grids without one -------- */

/* What -pc_bcrpoisson_grid and -pc_bcrpoisson_grid_processors say of the rows */
static PetscErrorCode found_by_option(PC pc, const BCRPlaceOptions *options, BCRFound *found)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  const char *prefix = BCRPrefix(pc), *stem = ((const BCROptionsOwner *)pc->data)->options->stem + 1;
  PetscInt rows;
  PetscReal nodes = 1, ranks = 1; /* products that no PetscInt may hold */
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(found, sizeof(*found)));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetSize(pc->pmat, &rows, NULL));
  found->order = options->nparts ? BCR_FOUND_BOXES : BCR_FOUND_NATURAL;
  found->dim = options->dim;
  for (PetscInt d = 0; d < 3; d++) {
    found->N[d] = d < options->dim ? options->N[d] : 1;
    found->parts[d] = d < options->nparts ? options->parts[d] : 1;
    nodes *= (PetscReal)found->N[d];
    ranks *= (PetscReal)found->parts[d];
  }
  if (nodes <= (PetscReal)rows) found->dof = rows / (found->N[0] * found->N[1] * found->N[2]);
  PetscCheck(found->dof && rows == found->dof * found->N[0] * found->N[1] * found->N[2], comm, PETSC_ERR_ARG_SIZ,
             "-%s%sgrid %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " does not fit the matrix: it has %" PetscInt_FMT " rows, which is no multiple of %.0f nodes",
             prefix, stem, found->N[0], found->N[1], found->N[2], rows, (double)nodes);
  PetscCheck(!options->nparts || options->nparts == options->dim, comm, PETSC_ERR_ARG_SIZ,
             "-%s%sgrid_processors has %" PetscInt_FMT " numbers, -%s%sgrid %" PetscInt_FMT ": give as many", prefix,
             stem, options->nparts, prefix, stem, options->dim);
  PetscCheck(!options->nparts || ranks == (PetscReal)size, comm, PETSC_ERR_ARG_SIZ,
             "-%s%sgrid_processors %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " are %.0f ranks, the matrix is on %d",
             prefix, stem, found->parts[0], found->parts[1], found->parts[2], (double)ranks, (int)size);
  for (PetscInt d = 0; d < options->nparts; d++) {
    PetscCheck(found->parts[d] <= found->N[d], comm, PETSC_ERR_ARG_SIZ,
               "-%s%sgrid_processors %" PetscInt_FMT " along %c are more than the grid has nodes there, %" PetscInt_FMT,
               prefix, stem, found->parts[d], (char)('x' + d), found->N[d]);
    PetscCall(PetscMalloc1(found->parts[d], &found->widths[d]));
    for (PetscInt p = 0; p < found->parts[d]; p++) /* as DMDACreate3d() does */
      found->widths[d][p] = found->N[d] / found->parts[d] + (p < found->N[d] % found->parts[d] ? 1 : 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of parts of the axes, size in all, of which none is empty: as few axes cut as can be, the last ones first. Returns how
   many, 4: there is no way */
static PetscInt cut_evenly(const PetscInt N[3], PetscInt size, PetscInt parts[3])
{
  PetscInt p[3], least = 4;

  for (p[0] = 1; p[0] <= PetscMin(size, N[0]); p[0]++) {
    for (p[1] = 1; p[1] <= PetscMin(size / p[0], N[1]); p[1]++) {
      const PetscInt cuts = (p[0] > 1) + (p[1] > 1) + (p[0] * p[1] < size);

      p[2] = size / (p[0] * p[1]);
      if (p[0] * p[1] * p[2] != size || p[2] > N[2] || cuts >= least) continue;
      least = cuts;
      for (int d = 0; d < 3; d++) parts[d] = p[d];
    }
  }
  return least;
}

/* The boxes for rows that are not numbered as boxes: parts[d] of width[d][] nodes along axis d. full: every rank needs a node.
   *inplace: the rows lie so */
static PetscErrorCode choose_boxes(PC pc, const BCRFound *found, PetscBool full, PetscInt parts[3], PetscInt *width[3],
                                   PetscBool *inplace)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  const PetscInt *N = found->N, *begin;
  PetscInt axis = found->dim - 1, plane = found->dof, longest = 0, cuts;
  PetscBool some = PETSC_TRUE;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(pc->pmat, &begin));
  while (axis > 0 && N[axis] == 1) axis--;
  for (PetscInt d = 0; d < axis; d++) plane *= N[d];
  *inplace = PETSC_TRUE;
  for (PetscInt d = 0; d < 3; d++) {
    parts[d] = d == axis ? (PetscInt)size : 1;
    width[d][0] = N[d];
    if (N[d] > N[longest]) longest = d;
  }
  for (PetscMPIInt p = 0; p < size; p++) { /* the cuts nearest to those of the rows */
    width[axis][p] = (begin[p + 1] + plane / 2) / plane - (begin[p] + plane / 2) / plane;
    if (width[axis][p] == 0) some = PETSC_FALSE;
    if (begin[p] % plane) *inplace = PETSC_FALSE;
  }
  if (found->order == BCR_FOUND_NATURAL && (some || (*inplace && !full))) PetscFunctionReturn(PETSC_SUCCESS);
  *inplace = PETSC_FALSE;
  cuts = cut_evenly(N, size, parts);
  if (cuts > (full ? 3 : 1)) { /* slabs are worth more than a node for each rank, where that can be */
    PetscCheck(
      !full, comm, PETSC_ERR_SUP,
      "The grid of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
      " nodes cannot be cut into boxes for %d ranks: use fewer ranks, or PCTELESCOPE or PCREDUNDANT around this PC",
      N[0], N[1], N[2], (int)size);
    for (PetscInt d = 0; d < 3; d++) parts[d] = d == longest ? (PetscInt)size : 1;
  }
  for (PetscInt d = 0; d < 3; d++)
    for (PetscInt p = 0; p < parts[d]; p++) width[d][p] = N[d] / parts[d] + (p < N[d] % parts[d] ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of what was found, and the order of the rows if it is another. aij: the matrix, or NULL */
static PetscErrorCode take_found(PC pc, const BCRFound *found, PetscBool full, Mat aij, BCRPlace *place)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  PetscInt parts[3], *width[3] = {NULL, NULL, NULL};
  PetscBool inplace = PETSC_TRUE;
  PetscMPIInt size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (found->order == BCR_FOUND_BOXES) {
    const PetscInt *const widths[3] = {found->widths[0], found->widths[1], found->widths[2]};

    PetscCall(BCRGridCreateBoxes(comm, place->id, found->dim, found->dof, found->N, found->ring, found->parts, widths,
                                 &place->grid));
    PetscCall(BCRGridCheckMatrix(&place->grid, pc->pmat));
  } else {
    ierr = PetscMalloc3(size, &width[0], size, &width[1], size, &width[2]);
    ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
    if (!ierr) ierr = choose_boxes(pc, found, full, parts, width, &inplace);
    if (!ierr)
      ierr = BCRGridCreateBoxes(comm, place->id, found->dim, found->dof, found->N, found->ring, parts,
                                (const PetscInt *const *)width, &place->grid);
    PetscCall(PetscFree3(width[0], width[1], width[2]));
    PetscCall(ierr);
  }
  if (!inplace) {
    PetscCall(BCROrderCreate(pc->pmat, aij, found, &place->grid, &place->order));
    place->ordered = PETSC_TRUE;
    aij = place->order.mat;
  }
  PetscCall(PetscObjectReference((PetscObject)aij));
  place->mat = aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- one after the other -------- */

static const char *order_name(const BCRFound *found)
{
  switch (found->order) {
  case BCR_FOUND_NONE:
    break;
  case BCR_FOUND_NATURAL:
    return "rows in natural order";
  case BCR_FOUND_BOXES:
    return "rows box after box";
  case BCR_FOUND_ANY:
    return found->alike ? "rows in another order, those with the same neighbours in that of their numbers"
                        : "rows in another order";
  }
  return "no order";
}

static PetscErrorCode place_text(BCRPlace *place, const char from[], const char order[])
{
  const BCRGrid *g = &place->grid;
  char size[80] = "", components[40] = "";

  PetscFunctionBegin;
  for (PetscInt d = 0; d < g->dim; d++) {
    char n[24];

    PetscCall(PetscSNPrintf(n, sizeof(n), "%s%" PetscInt_FMT, d ? " x " : "", g->N[d]));
    PetscCall(PetscStrlcat(size, n, sizeof(size)));
  }
  if (g->dof > 1) PetscCall(PetscSNPrintf(components, sizeof(components), ", %" PetscInt_FMT " components", g->dof));
  PetscCall(PetscSNPrintf(place->text, sizeof(place->text), "%s%s, %s%s%s", size, components, from, order ? ", " : "",
                          order ? order : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is b the grid that a is? */
static PetscBool same_grid(const BCRGrid *a, const BCRGrid *b)
{
  PetscBool same = (PetscBool)(a->dim == b->dim && a->dof == b->dof);

  for (PetscInt d = 0; d < 3 && same; d++) {
    same = (PetscBool)(a->N[d] == b->N[d] && a->parts[d] == b->parts[d] && a->periodic[d] == b->periodic[d]);
    for (PetscInt p = 0; p < a->parts[d] && same; p++) same = (PetscBool)(a->first[d][p] == b->first[d][p]);
  }
  return same;
}

/* A grid of a DM, for which place makes way */
static PetscErrorCode take_dm(PC pc, DM dm, const char from[], PetscBool vecs, BCRPlace *place, PetscBool *same)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  PetscBool isda;
  BCRGrid grid;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
  if (isda) PetscCall(BCRGridCreate(dm, comm, &grid));
  else PetscCall(grid_of_stag(dm, comm, &grid));
  BCRCallElse(BCRGridCheckMatrix(&grid, pc->pmat), (void)BCRGridDestroy(&grid));
  *same = (PetscBool)(place->dm && same_grid(&grid, &place->grid));
  PetscCall(PetscObjectReference((PetscObject)dm));
  PetscCall(BCRPlaceDestroy(place));
  place->grid = grid;
  place->dm = dm;
  place->vecs = vecs;
  PetscCall(PetscObjectReference((PetscObject)pc->pmat));
  place->mat = pc->pmat;
  PetscCall(place_text(place, from, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a DM: as an option says, or as is found in the matrix. place is empty */
static PetscErrorCode find_without(PC pc, const BCRPlaceOptions *options, PetscBool read, PetscBool full,
                                   BCRPlace *place)
{
  const char *stem = ((const BCROptionsOwner *)pc->data)->options->stem + 1;
  BCRFound found;
  Mat aij = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscBool rows = PETSC_TRUE;
  MatType type;
  char way[256];

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &place->id));
  PetscCall(MatGetNonzeroState(pc->pmat, &place->pattern));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &place->values));
  PetscCall(PetscMemzero(&found, sizeof(found)));
  PetscCall(PetscSNPrintf(
    way, sizeof(way), "the grid from: give a DMDA with KSPSetDM() or PCSetDM(), or -%s%sgrid nx,ny,nz%s", BCRPrefix(pc),
    stem, read ? ", and an assembled preconditioning matrix (second matrix of KSPSetOperators())" : ""));
  if (!read) PetscCall(BCRMatHasRows(pc->pmat, &rows)); /* else there is an error */
  if (rows && (read || !options->dim)) PetscCall(BCRMatGetAIJ(pc->pmat, way, &aij));
  if (options->dim) ierr = found_by_option(pc, options, &found);
  else if (!rows) {
    PetscCall(MatGetType(pc->pmat, &type));
    PetscCall(PetscSNPrintf(found.why, sizeof(found.why), "a matrix of type %s has none that could be read", type));
  } else {
    PetscCall(PetscLogEventBegin(BCR_Find, pc, pc->pmat, 0, 0));
    ierr = BCRGridFind(aij, &found);
    PetscCall(PetscLogEventEnd(BCR_Find, pc, pc->pmat, 0, 0));
  }
  place->options = *options;
  place->zeros = found.zeros;
  place->none = (PetscBool)(found.order == BCR_FOUND_NONE);
  if (place->none) PetscCall(PetscStrncpy(place->why, found.why, sizeof(place->why)));
  else if (!ierr) ierr = take_found(pc, &found, full, aij, place);
  if (!ierr && !place->none)
    ierr = place_text(place, options->dim ? "as given by an option" : "found in the matrix", order_name(&found));
  PetscCall(MatDestroy(&aij));
  PetscCall(BCRFoundDestroy(&found));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values on a pattern in which the grid was found before */
static PetscErrorCode update_found(PC pc, PetscBool read, BCRPlace *place)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  if (!read) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRMatGetAIJ(pc->pmat, "the operator from", &aij));
  if (place->ordered) {
    BCRCallElse(BCROrderUpdate(aij, &place->order), (void)MatDestroy(&aij));
    PetscCall(MatDestroy(&aij));
    PetscCall(PetscObjectReference((PetscObject)place->order.mat));
    aij = place->order.mat;
  }
  PetscCall(MatDestroy(&place->mat));
  place->mat = aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const object[] = {"KSP", "matrix", "vectors"};

/* All ranks must take the DM of the same object, or wait for one another in different places. k: which, 3: none */
static PetscErrorCode same_source(PC pc, PetscInt k)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  PetscInt first;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&k, &first, 1, MPIU_INT, MPI_MIN, comm));
  if (k != first)
    PetscCall(
      BCRFaultSet(&fault, PETSC_ERR_ARG_WRONG,
                  "The %s has a DM with the grid on some ranks, but not on this one: give it on all of them, with "
                  "KSPSetDM() or PCSetDM(), or on none",
                  object[first]));
  PetscCall(BCRFaultAgree(comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceFind(PC pc, const BCRPlaceOptions *options, PetscBool read, PetscBool full, Vec b, Vec x,
                            BCRPlace *place, PetscBool *same)
{
  char from[40];
  DM dm[3] = {NULL, NULL, NULL};
  PetscObjectId id;
  PetscObjectState pattern, values;
  PetscInt rows, k, n;
  char misfit[sizeof(place->misfit)] = "";

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm[0]));
  PetscCall(MatGetDM(pc->pmat, &dm[1]));
  PetscCall(vecs_dm(b, x, &dm[2]));
  PetscCall(MatGetSize(pc->pmat, &rows, NULL));
  if (!dm[2] && place->vecs && rows == place->grid.dof * place->grid.N[0] * place->grid.N[1] * place->grid.N[2])
    dm[2] = place->dm;      /* they had it last time */
  for (k = 0; k < 3; k++) { /* one of another size, as where a SNES takes some rows out, is none */
    PetscCall(dm_with_rows(rows, &dm[k], &n));
    if (dm[k]) break;
    if (!n) continue;
    if (misfit[0]) continue;
    PetscCall(PetscSNPrintf(misfit, sizeof(misfit),
                            "the DM of the %s has %" PetscInt_FMT " unknowns, the matrix %" PetscInt_FMT " rows",
                            object[k], n, rows));
    PetscCall(PetscInfo(pc, "The grid is looked for elsewhere: %s\n", misfit));
  }
  PetscCall(same_source(pc, k));
  if (k < 3) {
    PetscCall(PetscSNPrintf(from, sizeof(from), "from the DM of the %s", object[k]));
    PetscCall(take_dm(pc, dm[k], from, (PetscBool)(k == 2), place, same));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
  PetscCall(MatGetNonzeroState(pc->pmat, &pattern));
  PetscCall(PetscMemcmp(&place->options, options, sizeof(*options), same));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &values));
  *same = (PetscBool)(*same && !place->dm && place->id == id && place->pattern == pattern);
  if ((place->none || place->zeros) && place->values != values) *same = PETSC_FALSE;
  if (*same) {
    if (!place->none) PetscCall(update_found(pc, read, place));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRPlaceDestroy(place));
  BCRCallElse(find_without(pc, options, read, full, place), (void)BCRPlaceDestroy(place));
  PetscCall(PetscStrncpy(place->misfit, misfit, sizeof(place->misfit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceLook(const BCRPlace *place, Vec b, Vec x, PetscBool *anew)
{
  DM dm = NULL;

  PetscFunctionBegin;
  if (place->grid.dim && !place->dm && !place->options.dim) PetscCall(vecs_dm(b, x, &dm));
  *anew = (PetscBool)(dm || place->none);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceRefuse(PC pc, const BCRPlace *place)
{
  const BCROptions *options = ((const BCROptionsOwner *)pc->data)->options;

  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONG,
          "%s found no grid: %s, and the rows of the matrix are not those of a structured grid: %s. Give a DMDA with "
          "KSPSetDM() or PCSetDM(), or -%s%sgrid nx,ny,nz",
          options->type, place->misfit[0] ? place->misfit : "neither the PC, its matrix nor the vectors have a DMDA",
          place->why, BCRPrefix(pc), options->stem + 1);
}

PetscErrorCode BCRPlaceDestroy(BCRPlace *place)
{
  PetscFunctionBegin;
  PetscCall(BCRGridDestroy(&place->grid));
  PetscCall(DMDestroy(&place->dm));
  PetscCall(MatDestroy(&place->mat));
  if (place->ordered) PetscCall(BCROrderDestroy(&place->order));
  PetscCall(PetscMemzero(place, sizeof(*place)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceView(const BCRPlace *place, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (place->none)
    PetscCall(PetscViewerASCIIPrintf(viewer, "grid: that of the first vectors, if they have one; no other, as %s\n",
                                     place->why));
  if (!place->grid.dim) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "grid: %s\n", place->text));
  if (place->ordered) {
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "grid: each application brings its vectors to the order of the grid and back\n"));
    if (place->order.singles)
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "grid: %" PetscInt_FMT
                                       " rows with a diagonal alone or with nothing are no nodes, "
                                       "and solved by themselves (nothing: u = 0)\n",
                                       place->order.singles));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceRow(const BCRPlace *place, PetscInt local, PetscInt *row)
{
  const PetscInt *rows;

  PetscFunctionBegin;
  if (!place->ordered) {
    const PetscInt *n = place->grid.n;

    *row = local + (n[0] * n[1] * n[2] > 0 ? place->grid.dof * BCRGridNumber(&place->grid, place->grid.lo) : 0);
  } else {
    PetscInt n;

    PetscCall(ISGetLocalSize(place->order.rows, &n));
    PetscCall(ISGetIndices(place->order.rows, &rows));
    *row = local < n ? rows[local] : -1;
    PetscCall(ISRestoreIndices(place->order.rows, &rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlaceApply(PC pc, BCRPlace *place, PetscBool transpose, Vec x, Vec y,
                             PetscErrorCode (*apply)(PC, PetscBool, Vec, Vec))
{
  PetscFunctionBegin;
  if (place->ordered) {
    PetscCall(BCROrderTake(&place->order, transpose, x, y));
    PetscCall((*apply)(pc, transpose, place->order.f, place->order.u));
    PetscCall(BCROrderGive(&place->order, transpose, x, y));
  } else PetscCall((*apply)(pc, transpose, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
