/*
  What a solver needs of the machine that it works on: memory, loops over fields and faces, cores.
  Two tables of it, BCRBackendCpu() and BCRBackendCuda(). The order in which a solve calls these
  operations is pass.c's, that of mixed precision refine.c's; what a core does between its
  right-hand side and its solution is its own matter.

  Arrays named by a pass or a field are in the backend's memory. Where BCR_BACKEND_ASYNC is set the
  operations of a pass are launched on the pass's stream: none of them waits, allocates, or copies to
  or from the host.
*/
#pragma once

#include "solverimpl.h"

enum {
  BCR_BACKEND_ASYNC = 1,       /* the host may not wait in a solve */
  BCR_BACKEND_CONVERTS = 2,    /* cores take vectors in double where they work in single */
  BCR_BACKEND_SUMS_DOUBLE = 4, /* mixed precision sums in double whatever PetscReal is */
  BCR_BACKEND_DEVICE = 8       /* its memory is not the host's */
};

/* Mixed precision in a pass: v += e, r = rs (g - mean - K v), the norms as sums of squares */
typedef struct {
  BCRField r, e, v;        /* r and e in single; v: the solution */
  BCRRanks core;           /* r -> e */
  PetscBool measure;       /* the sums are wanted */
  PetscBool keep;          /* v has a value */
  PetscBool zero;          /* the right-hand side is zero, and so is v */
  double rs, mean;         /* where the host may wait, or measures */
  double sumg, sumr, sumv; /* of rs g, of r, of rs norm scale v */
} BCRRefine;

struct _BCRBackend {
  unsigned flags;
  size_t pad; /* bytes that rows of the workspace get more where they are a multiple of 1 KB; 0: none */
  PetscBool (*available)(const char **why);
  /* what solves run on, in words: an instruction set, or a device's name */
  PetscErrorCode (*machine)(const BCRSolverOptions *options, size_t length, char name[]);

  /* memory; what: for the message where there is none. put and get wait */
  PetscErrorCode (*alloc)(size_t bytes, const char what[], void *p);
  PetscErrorCode (*free)(void *p);
  PetscErrorCode (*put)(void *stream, void *to, const void *from, size_t bytes);
  PetscErrorCode (*get)(void *stream, void *to, const void *from, size_t bytes);

  /* what the backend keeps of a solver (s->state): create on each rank by itself, connect with the
     others, settle before anything changes. connect, settle: or NULL */
  PetscErrorCode (*create)(BCRSolver s);
  PetscErrorCode (*connect)(BCRSolver s);
  PetscErrorCode (*settle)(BCRSolver s);
  PetscErrorCode (*destroy)(BCRSolver s);
  PetscErrorCode (*info)(BCRSolver s, BCRSolverInfo *info);
  /* and of a component (c->tables), once it is set up and when it has changed; or NULL */
  PetscErrorCode (*tables)(BCRSolver s, BCRComponent *c);
  PetscErrorCode (*tables_destroy)(BCRComponent *c);

  /* rows apart: before the pass (f may be u), and behind it */
  PetscErrorCode (*apart_begin)(const BCRPass *p);
  PetscErrorCode (*apart_end)(const BCRPass *p);
  /* planes.c has what they are. *moves: some node of the face has a value to move into the box */
  PetscErrorCode (*face_begin)(const BCRPass *p, const BCRFace *face, PetscBool *moves);
  PetscErrorCode (*face_end)(const BCRPass *p, const BCRFace *face);
  PetscErrorCode (*edge_begin)(const BCRPass *p);
  /* n links from first on, which do not depend on one another */
  PetscErrorCode (*edge_slope)(const BCRPass *p, PetscInt first, PetscInt n);
  PetscErrorCode (*edge_scale)(const BCRPass *p);

  /* g = the box's right-hand side: f, factors, the terms of the faces */
  PetscErrorCode (*rhs)(const BCRPass *p, const BCRField *g);
  /* u = x with its factors, in the box; x is scratch afterwards */
  PetscErrorCode (*out)(const BCRPass *p, const BCRField *x);
  /* both for p[0] and p[1], real and imaginary parts, which x has behind one another (s->stagepart). Of devices */
  PetscErrorCode (*rhs_pairs)(const BCRPass p[], const BCRField *x);
  PetscErrorCode (*out_pairs)(const BCRPass p[], const BCRField *x);
  /* u -= removed / onesremoved ones at all nodes, removed /= onesremoved */
  PetscErrorCode (*subtract_ones)(const BCRPass *p);

  /* mixed precision: r = rs g; v += e; both that and the next residual; the mean of v to zero */
  PetscErrorCode (*refine_begin)(const BCRPass *p, BCRRefine *x);
  PetscErrorCode (*refine_add)(const BCRPass *p, BCRRefine *x);
  PetscErrorCode (*refine_step)(const BCRPass *p, BCRRefine *x);
  PetscErrorCode (*refine_mean)(const BCRPass *p, BCRRefine *x);
  /* a right-hand side to try it on: n numbers of about size, all modes in them */
  PetscErrorCode (*trial)(void *stream, PetscInt n, double size, PetscReal f[]);

  /* cores, each a box on all ranks (ranks.h): created on all of them together, what the backend knows of spec added to
     it. made: right-hand sides are made for the core, core_input() */
  PetscErrorCode (*core_create)(BCRSolver s, BCRRanksSpec *spec, PetscBool made, BCRRanks *core);
  /* where a right-hand side that is made for it should go: *v = NULL: where the solution goes, else
     an array of the box, packed. Or NULL: always the first */
  PetscErrorCode (*core_input)(BCRRanks core, void **v);
  PetscErrorCode (*core_solve)(const BCRPass *p, BCRRanks core, const void *f, void *u);
  /* operators of either sign: what is known of left-out parts is forgotten; or NULL: BCRWaves solves those */
  PetscErrorCode (*core_forget)(BCRRanks core, void *stream);
  /* p->removed = what the core's last solve removed; x (or NULL): all solves of it */
  PetscErrorCode (*core_removed)(const BCRPass *p, BCRRanks core, const BCRRefine *x);

  /* launch(context, stream), which depends on nothing but the key: as often as the same key comes */
  PetscErrorCode (*run)(BCRSolver s, void *stream, const void *key, size_t bytes,
                        PetscErrorCode (*launch)(void *context, void *stream), void *context);
  /* before and after a run, on all ranks: raise what a rank has found; or NULL */
  PetscErrorCode (*ready)(BCRSolver s);
  PetscErrorCode (*agree)(BCRSolver s, PetscErrorCode mine);
  /* least of repeat runs; run returns nonzero after an error */
  PetscErrorCode (*time)(void *stream, int (*run)(void *context), void *context, PetscInt repeat, double *seconds);
};

PETSC_INTERN const BCRBackend *BCRBackendCpu(void);
PETSC_INTERN const BCRBackend *BCRBackendCuda(void); /* NULL: not in this build */
