/*
  What PCBCRPOISSON says about itself.
*/
#include "bcrpoisson.h"
#include <string.h>

static const char xyz[] = "xyz";

/* What it costs to bring vectors to slabs, and how a user does without */
static PetscErrorCode view_redistribution(PC pc, PetscViewer viewer)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const BCRGrid *g = &bcr->place.grid;
  const BCRMoves *m = &bcr->moves;
  const double bytes = 2 * (double)sizeof(PetscScalar) * (double)bcr->dof; /* there and back */
  PetscBool forced;
  const PetscInt general = BCRPoissonGeneralAxis(pc, &forced);
  PetscInt axis = m->axis, cut = 0;
  const char *prefix = NULL;
  char why[256], how[256];
  BCRCarryInfo info;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < g->dim; ++d)
    if (g->parts[d] > 1) ++cut;
  PetscCall(BCRCarryGetInfo(m->carry, &info));
  PetscCall(BCRMovesDescribe(g, m, general, sizeof(why), why, how));
  if (bcr->place.dm) PetscCall(DMGetOptionsPrefix(bcr->place.dm, &prefix));
  if (cut == 1 && forced)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "redistributed: coefficients vary along %c so that it cannot be transformed\n", xyz[general]));
  else if (cut == 1 && general < 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "redistributed: slabs along x would be solved twice\n"));
  else if (cut == 1)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "redistributed: coefficients vary along %c, and slabs of the DMDA as it is cut would need the %" PetscInt_FMT
      " eigenvectors of that axis, which cost more than to move vectors\n",
      xyz[general], bcr->size[general]));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "redistributed: the %s is cut %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                                   ", each application brings its vectors to slabs and back: %.0f "
                                   "bytes between ranks, %.0f by the rank that sends most\n",
                                   bcr->place.dm ? "DMDA" : "grid", g->parts[0], g->parts[1], g->parts[2],
                                   bytes * info.moved, bytes * info.most));
  PetscCall(PetscViewerASCIIPrintf(viewer, "redistributed: %s\n", why));
  if (how[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "redistributed: %s\n", how));
  for (PetscInt d = 0; d < g->dim; ++d)
    if (g->N[axis] < (PetscInt)g->size && g->N[d] > g->N[axis]) axis = d;
  if (g->N[axis] < (PetscInt)g->size)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "redistributed: with fewer ranks, at most %" PetscInt_FMT ", this could be avoided\n", g->N[axis]));
  else if (bcr->place.dm) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "redistributed: avoided by"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt d = 0; d < g->dim; ++d)
      PetscCall(PetscViewerASCIIPrintf(viewer, " -%sda_processors_%c %d", prefix ? prefix : "", xyz[d],
                                       d == axis ? (int)g->size : 1));
    PetscCall(PetscViewerASCIIPrintf(viewer, " (DMSetFromOptions()), or DMDASetNumProcs()\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the slabs are, and how they are coupled */
static PetscErrorCode view_ranks(PC pc, PetscViewer viewer)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const BCRGrid *g = &bcr->place.grid;
  const BCRMoves *m = &bcr->moves;
  PetscInt rows[2] = {-m->len, m->len}, all[2], general, idle = m->len ? 0 : 1;
  PetscBool forced;
  PetscViewerFormat format;

  PetscFunctionBegin;
  if (g->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  general = BCRPoissonGeneralAxis(pc, &forced);
  PetscCallMPI(MPI_Allreduce(rows, all, 2, MPIU_INT, MPI_MAX, g->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &idle, 1, MPIU_INT, MPI_SUM, g->comm));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "ranks: %d, slabs of %" PetscInt_FMT " to %" PetscInt_FMT " rows along %c%s\n", (int)g->size, -all[0],
    all[1], xyz[m->axis], m->inplace ? (bcr->place.dm ? ", as the DMDA has them" : ", as the grid is cut") : ""));
  if (idle)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "ranks: %" PetscInt_FMT " without rows: they move vectors, and wait\n", idle));
  if (bcr->solver) {
    BCRSolverInfo info;

    PetscCall(BCRSolverGetInfo(bcr->solver, &info));
    if (info.transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", info.transport));
    if (info.ranks[0] && m->team && m->team->size == g->size)
      PetscCall(PetscViewerASCIIPrintf(viewer, "coupling: through memory, as all ranks have one slab\n"));
    else if (info.ranks[0])
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "coupling: %s; the first rank sends %.0f bytes in %.0f messages in a solve\n",
                                       info.ranks, (double)info.bytes_sent, (double)info.messages));
    PetscCall(PetscViewerGetFormat(viewer, &format));
    for (const char *line = info.refused; *line && format == PETSC_VIEWER_ASCII_INFO_DETAIL;) {
      const size_t length = strcspn(line, "\n");
      char way[256];

      PetscCall(PetscStrncpy(way, line, PetscMin(length + 1, sizeof(way))));
      PetscCall(PetscViewerASCIIPrintf(viewer, "coupling: not by %s\n", way));
      line += length + (line[length] ? 1 : 0);
    }
  }
  if (m->inplace && general >= 0 && general != m->axis)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "coupling: by the %" PetscInt_FMT " eigenvectors of the coefficients along %c, which set-up finds in the order "
      "of %g operations; a solve takes %g for each line between slabs\n",
      bcr->size[general], xyz[general], 10 * PetscPowReal((PetscReal)bcr->size[general], 3),
      8 * PetscSqr((double)bcr->size[general])));
  if (!m->inplace) PetscCall(view_redistribution(pc, viewer));
  else if (m->team)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "coupling: %d ranks share a slab in memory that all of them reach, each its lines "
                                     "and planes of modes; no vector is moved\n",
                                     (int)m->team->size));
  if (bcr->noteam && !bcr->device)
    PetscCall(PetscViewerASCIIPrintf(viewer, "ranks: none share a slab, as %s\n", bcr->noteam));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is solved with */
static PetscErrorCode view_operators(PC pc, PetscViewer viewer)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPushTab(viewer));
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    if (bcr->dof > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "component %" PetscInt_FMT ":\n", c));
    PetscCall(BCROperatorView(&bcr->ops[c], viewer));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_plan(const PC_BCRPoisson *bcr, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "plan: %s\n",
    bcr->info.core.plan[0] ? bcr->info.core.plan : "none, as the first rank has no row between two interfaces"));
  if (bcr->info.core.symbol_size > 0) /* products of axes, and operators of either sign on a device */
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "symbol: smallest absolute value %g, negative in %" PetscInt64_FMT
                                     " modes, %" PetscInt64_FMT " modes left out as it is next to zero there\n",
                                     bcr->info.core.symbol_min, bcr->info.core.negative, bcr->info.core.left_out));
  if (bcr->info.core.subproblems)
    PetscCall(PetscViewerASCIIPrintf(viewer, "tridiagonal sub-problems of a solve: %" PetscInt_FMT "\n",
                                     bcr->info.core.subproblems));
  PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s%s%s%s\n", bcr->device ? "cuda" : "cpu",
                                   !bcr->info.core.isa[0] ? ""
                                   : bcr->device          ? ", device "
                                                          : ", instruction set ",
                                   bcr->info.core.isa, bcr->backend == PCBCRPOISSON_BACKEND_AUTO ? " (auto)" : ""));
  if (bcr->nodevice)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "backend: each application brings the vectors to the host, as there is %s\n", bcr->nodevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the kernels of a device are launched */
static PetscErrorCode view_launches(const PC_BCRPoisson *bcr, PetscViewer viewer)
{
  BCRSolverInfo info;

  PetscFunctionBegin;
  PetscCall(BCRSolverGetInfo(bcr->solver, &info));
  if (!bcr->graph) PetscCall(PetscViewerASCIIPrintf(viewer, "launches: kernel by kernel, as asked for\n"));
  else if (!info.graph)
    PetscCall(PetscViewerASCIIPrintf(viewer, "launches: kernel by kernel, as the solve cannot be captured\n"));
  else if (!info.graphs)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "launches: as a CUDA graph from the second application to the same vectors on\n"));
  else
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "launches: %" PetscInt_FMT " as CUDA graphs, the last one of %" PetscInt_FMT " nodes\n", info.graphs,
      info.nodes[0] + info.nodes[1] + info.nodes[2] + info.nodes[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_tuned(const PC_BCRPoisson *bcr, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (bcr->tuned.fromfile)
    PetscCall(PetscViewerASCIIPrintf(viewer, "tune: %s, from %s: %s\n", bcr->tune ? "on" : "off", bcr->tunefile,
                                     bcr->tuned.what));
  else if (!bcr->tune) PetscCall(PetscViewerASCIIPrintf(viewer, "tune: off\n"));
  else if (!bcr->tuned.ntimed)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "tune: on, nothing to choose as %s\n",
                             bcr->product ? "there is one plan for box stencils" : "the radix or schedule is given"));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "tune: on, %" PetscInt_FMT " plans timed, fastest %s, %g ms\n",
                                     bcr->tuned.ntimed, bcr->tuned.what, 1e3 * bcr->tuned.seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the rank that has most of it */
static PetscErrorCode view_memory(const PC_BCRPoisson *bcr, PetscViewer viewer)
{
  enum {
    WORKSPACE,
    TABLES,
    VECTORS,
    COPIES,
    KINDS
  };
  double memory[KINDS]; /* bytes; VECTORS: the workspace in vectors */
  char copies[96] = "";
  BCRSolverInfo now; /* copies are made by the first application that needs them */

  PetscFunctionBegin;
  PetscCall(BCRSolverGetInfo(bcr->solver, &now));
  memory[WORKSPACE] = (double)bcr->info.workspace;
  if (bcr->moves.carry && bcr->device) {
    BCRCarryInfo info;

    PetscCall(BCRCarryGetInfo(bcr->moves.carry, &info));
    memory[WORKSPACE] += (double)info.bytes;
  } else if (bcr->moves.team)
    memory[WORKSPACE] += (double)sizeof(PetscScalar) * (double)bcr->moves.nodes / (double)bcr->moves.team->size;
  else if (bcr->moves.slab)
    memory[WORKSPACE] += (double)sizeof(PetscScalar) * (double)bcr->dof * (double)bcr->moves.nodes;
  memory[TABLES] = (double)bcr->info.tables;
  memory[VECTORS] = memory[WORKSPACE] / ((double)PetscMax(bcr->n, 1) * sizeof(PetscScalar));
  memory[COPIES] = (double)now.copies;
  if (bcr->place.grid.size > 1)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, memory, KINDS, MPI_DOUBLE, MPI_MAX, bcr->place.grid.comm));
  if (memory[COPIES] > 0)
    PetscCall(PetscSNPrintf(copies, sizeof(copies), ", copies of vectors of the host %.0f bytes", memory[COPIES]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "memory%s: workspace %.0f bytes (%.2f vectors), tables %.0f bytes%s\n",
                                   bcr->place.grid.size > 1 ? " of a rank" : "", memory[WORKSPACE], memory[VECTORS],
                                   memory[TABLES], copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Signs and sizes of eigenvalues, of all components that are not definite */
static PetscErrorCode view_waves(const PC_BCRPoisson *bcr, PetscViewer viewer)
{
  BCRSolverInfo info;

  PetscFunctionBegin;
  PetscCall(BCRSolverGetInfo(bcr->solver, &info));
  PetscCall(PetscViewerASCIIPrintf(
    viewer,
    "indefinite or complex, or parts are singular: eigenvalues with a negative real part: %.0f; the smallest "
    "is %g of the operator's size\n",
    info.negative, info.least));
  if (info.left == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscViewerASCIIPrintf(viewer,
                           "numerically singular: %.0f modes, whose eigenvalues are below %g of that, are left "
                           "out of solutions; of the last right-hand side they had %g of its size, which leaves "
                           "a backward error of %g\n",
                           info.left, BCR_MODES_LEAST, info.leftpart, info.lefterror));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_BCRPoisson(PC pc, PetscViewer viewer)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCROptionsView(pc, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "operator: from %s, fit %s\n",
                                   bcr->source == PCBCRPOISSON_OPERATOR_USER ? "the user" : "the matrix",
                                   PCBCRPoissonFits[bcr->fit]));
  PetscCall(BCRPlaceView(&bcr->place, viewer));
  PetscCall(BCROtherwiseView(&bcr->otherwise, viewer));
  if (bcr->otherwise.pc) PetscFunctionReturn(PETSC_SUCCESS);
  if (!bcr->solver) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "not set up yet: the plan is made from the operator\n"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s\n", PCBCRPoissonBackends[bcr->backend]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCBCRPoissonPrecisions[bcr->precision]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(view_operators(pc, viewer));
  PetscCall(view_ranks(pc, viewer));
  PetscCall(view_plan(bcr, viewer));
  if (bcr->device) PetscCall(view_launches(bcr, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCBCRPoissonPrecisions[bcr->precision]));
  PetscCall(view_tuned(bcr, viewer));
  PetscCall(view_memory(bcr, viewer));
  if (bcr->grading > BCR_GRADED)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "refined once in each application: diagonals along a grid line differ by a factor of %g\n",
      (double)bcr->grading));
  if (bcr->condition > BCR_CONDITION_REFINE)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "refined once in each application: eigenvectors of axes with varying coefficients, condition %g\n",
      bcr->condition));
  if (bcr->waves) PetscCall(view_waves(bcr, viewer));
  if (bcr->cap) {
    BCRCapacitanceInfo info;

    PetscCall(BCRCapacitanceGetInfo(bcr->cap, &info));
    if (BCRPoissonExtends(bcr))
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "rows that differ: %" PetscInt_FMT ", %" PetscInt_FMT
                                       " in a mask; extension by zero into it, a preconditioner only\n",
                                       info.rows, info.masked));
    else
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "rows that differ: %" PetscInt_FMT ", %" PetscInt_FMT
                                       " in a mask; last solve: %" PetscInt_FMT " of the box, %" PetscInt_FMT
                                       " of %" PetscInt_FMT " directions known\n",
                                       info.rows, info.masked, info.solves, info.known, info.most));
  }
  if (bcr->stagnated)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "rows that differ: their system could not be solved, so they are fitted\n"));
  if (bcr->ponds.n)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "ponds: %" PetscInt_FMT ", solutions have zero mean on each\n", bcr->ponds.n));
  if (BCRPoissonUnchosenFit(pc) >= 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "preconditioner only: the operator is not the matrix, but a fit of it\n"));
  PetscCall(BCRPoissonUpdateRemoved(pc));
  if (BCRPoissonSingular(pc))
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "singular: solutions have zero mean; constant removed from the last right-hand side: %g\n",
      (double)bcr->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPoissonExplain(PC pc, PetscReal norm, size_t length, char text[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscInt N;

  PetscFunctionBegin;
  text[0] = 0;
  if (!bcr->solver) PetscFunctionReturn(PETSC_SUCCESS);
  if (bcr->source == PCBCRPOISSON_OPERATOR_USER) {
    PetscCall(PetscSNPrintf(
      text, length,
      "the tolerance is below rounding, or the matrix is not the operator that was described (-pc_bcrpoisson_operator "
      "user): mend the description, or use KSPCG or KSPGMRES with PCBCRPOISSON"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    PetscBool exact;

    PetscCall(PetscStrcmp(bcr->ops[c].fit, "exact", &exact));
    if (exact || bcr->ops[c].differ) continue;
    PetscCall(PetscSNPrintf(text, length,
                            "the matrix is not separable, and the solver is of another one near it (fit %s, largest "
                            "deviation of an entry %g): use KSPCG or KSPGMRES with PCBCRPOISSON",
                            bcr->ops[c].fit, (double)bcr->ops[c].deviation));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (bcr->told > 0) {
    PetscCall(PetscSNPrintf(
      text, length,
      "the operator is numerically singular: %.0f of its modes are left out, and the right-hand side is not without "
      "them "
      "(backward error %g): attach the null space to the matrix (MatSetNullSpace()), or make the right-hand side "
      "consistent, or use another shift",
      bcr->info.left, (double)bcr->told));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRPoissonUpdateRemoved(pc));
  PetscCall(MatGetSize(pc->pmat, &N, NULL));
  if (BCRPoissonSingular(pc) && 2 * bcr->removed * PetscSqrtReal((PetscReal)N) >= norm)
    PetscCall(
      PetscSNPrintf(text, length,
                    "the operator is singular and the right-hand side is not in its range, a constant of size %g was "
                    "removed from what is left of it: attach the null space to the matrix (MatSetNullSpace(), and "
                    "MatSetTransposeNullSpace() if that is another), or make the right-hand side consistent",
                    (double)bcr->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
