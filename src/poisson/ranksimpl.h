/*
  Ranks with slabs of a box: what ranks.c decides for all, and the operations by which ranks_cpu.c and ranks_cuda.c
  carry it out.
*/
#pragma once

#include "ranks.h"

struct _n_BCRRanks {
  const BCRRanksOps *ops;
  void *state; /* of ops */
  MPI_Comm comm;
  PetscMPIInt rank, size, tag;
  PetscInt axis, dim;
  BCRAxis x[3];              /* of the whole box; coefficients owned */
  PetscInt nother, other[2]; /* the axes along an interface */
  PetscInt no[2];            /* their unknowns; 1 where there is none */
  PetscInt stride[3];
  PetscBool product; /* of axes: mixed[], or */
  PetscBool waves;   /* of either sign, for a device */
  BCRCorePair pair;
  PetscReal mixed[8];
  double shift, factor;
  double single; /* what a single row between interfaces has along the axis, which is none for the core then */
  PetscBool singular, halo;
  PetscBool stale; /* tables have to be made, BCRRanksSetUp() */
  BCRPrecision io;
  BCRCoreOptions options;
  void *stream, *transport;
  BCRSlabRows p;
  BCRCoreShare share; /* products of axes */
  PetscInt *rows;     /* [2][size] its arrays */
  void *core;         /* the rows between the interfaces; in one pass the interface row, too; NULL: none are between */
  /* modes of an interface: eigenvalue and norm [nmodes]; constant: number of the constant one, -1: none */
  PetscInt nmodes, constant;
  const double *lambda, *norm;
  /* modes go out in batches, so that one is on its way while the next is worked on: batch b has those of
     rows batch[b] .. batch[b + 1] - 1 of the higher axis of an interface */
  PetscInt nbatch, batch[3];
  /* why not; NULL: possible */
  const char *nopass[BCR_PASSES], *nocoupling[BCR_COUPLINGS];
  const char *nolines; /* of a singular operator: why BCR_PASS_LINES is not gone on any rank, or NULL */
  BCRRanksWay way;
  BCRRanksPass pass;
  BCRRanksCoupling coupling;
};

struct _BCRRanksOps {
  const char *failed; /* what is said of a rank whose set-up fails: "Rank r <failed>" */
  PetscBool async;    /* tables are made when they are needed, BCRRanksSetUp(), not when something changes */
  unsigned couplings; /* bits 1 << BCRRanksCoupling: those that it has */

  PetscErrorCode (*create)(BCRRanks r); /* r->state */
  PetscErrorCode (*modes)(BCRRanks r);  /* r->nmodes, lambda, norm, constant */
  /* border NULL: a box by itself. With a border *core = NULL: no plan for it, and *why says why */
  PetscErrorCode (*core_create)(BCRRanks r, const BCRAxis axes[], const BCRCoreBorder *border, PetscReal shift,
                                PetscBool singular, void **core, const char **why);
  PetscErrorCode (*core_shift)(void *core, PetscReal shift);
  PetscErrorCode (*core_factor)(void *core, PetscReal factor);
  PetscErrorCode (*core_setup)(void *core); /* NULL: creation and changes have done it */
  /* tables of this shift: BCR_PASS_ONE, BCR_PASS_LINES are possible, or why not. NULL: always */
  PetscErrorCode (*core_passes)(void *core, const char *nopass[]);
  /* all ranks: cores for one pass that exchange modes in bases of their own come to have the same one. NULL: there are none */
  PetscErrorCode (*agree)(BCRRanks r);
  PetscErrorCode (*core_plan)(void *core, BCRPlan *plan);
  PetscErrorCode (*core_info)(void *core, BCRCoreInfo *info);
  PetscErrorCode (*core_destroy)(void **core);
  PetscErrorCode (*local)(BCRRanks r);   /* arrays and tables of this rank, no rank waiting for another */
  PetscErrorCode (*connect)(BCRRanks r); /* all ranks of several parts: r->nocoupling */
  PetscErrorCode (*tables)(BCRRanks r);  /* all that depends on the shift but the core; all ranks of several parts */

  /* one rank has all rows: it solves, and tells the others what it removed */
  PetscErrorCode (*alone)(BCRRanks r, void *stream, const void *f, void *u);
  /* the steps of a solve on several, for each batch of modes. Ranks without rows take part in what is sent */
  PetscErrorCode (*eliminate)(BCRRanks r, void *stream, PetscInt batch, const void *f, void *u);
  PetscErrorCode (*exchange)(BCRRanks r, void *stream, PetscInt batch);
  PetscErrorCode (*reduce)(BCRRanks r, void *stream, PetscInt batch, void *u);
  PetscErrorCode (*back)(BCRRanks r, void *stream, PetscInt batch, const void *f, void *u);
  PetscErrorCode (*zero_mean)(BCRRanks r, void *stream, void *u);
  PetscErrorCode (*mark)(BCRRanks r, void *stream); /* a step ends; NULL: steps are not timed */

  PetscErrorCode (*removed)(BCRRanks r, const double **removed);
  /* what is sent, tables and workspace added to info's; coupling: in words */
  PetscErrorCode (*info)(BCRRanks r, BCRRanksInfo *info, size_t length, char coupling[]);
  PetscErrorCode (*destroy)(BCRRanks r);
};

static inline const BCRSlabPart *BCRRanksMine(BCRRanks r)
{
  return r->p.mine >= 0 ? &r->p.part[r->p.mine] : NULL;
}

static inline const BCRSlabPart *BCRRanksBefore(BCRRanks r)
{
  return r->p.prev >= 0 ? &r->p.part[r->p.prev] : NULL;
}

/* Couplings whose effect is below this, relative, may be left out: numbers are rounded to 1.1e-16 and 6e-8 */
static inline double BCRRanksEps(BCRRanks r)
{
  return r->options.precision == BCR_DOUBLE ? 1e-17 : 1e-9;
}

/* Products of axes: rows of all ranks, each of which has a core that exchanges with the others; NULL: one has all rows */
static inline const BCRCoreShare *BCRRanksGetShare(BCRRanks r)
{
  return r->p.nparts > 1 ? &r->share : NULL;
}
/* An error of this rank's own steps becomes one of all ranks */
PETSC_INTERN PetscErrorCode BCRRanksShare(BCRRanks r, PetscErrorCode ierr, const char what[]);
