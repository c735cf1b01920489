/*
  The options of PCBCRPOISSON: one line of the table for each, and what is particular to some.
*/
#include "bcrpoisson.h"

#define BCR_MAX_RADIX 1000000000

const char *const PCBCRPoissonTransports[] = {
  "auto", "mpi", "nccl", "host", "PCBCRPoissonTransport", "PCBCRPOISSON_TRANSPORT_", NULL};
const char *const PCBCRPoissonBackends[] = {"auto", "cpu", "cuda", "PCBCRPoissonBackend", "PCBCRPOISSON_BACKEND_",
                                            NULL};
const char *const PCBCRPoissonPrecisions[] = {
  "double", "single", "mixed", "PCBCRPoissonPrecision", "PCBCRPOISSON_PRECISION_", NULL};
const char *const PCBCRPoissonOperatorSources[] = {"matrix", "user", "PCBCRPoissonOperatorSource",
                                                   "PCBCRPOISSON_OPERATOR_", NULL};
const char *const PCBCRPoissonFits[] = {"auto",  "scaled",          "average",           "profile",
                                        "exact", "PCBCRPoissonFit", "PCBCRPOISSON_FIT_", NULL};
const char *const PCBCRPoissonCapacitances[] = {
  "auto", "off", "extension", "PCBCRPoissonCapacitance", "PCBCRPOISSON_CAPACITANCE_", NULL};
const char *const PCBCRPoissonEnds[] = {"dirichlet", "neumann",         "cell_neumann",  "cell_dirichlet",
                                        "periodic",  "PCBCRPoissonEnd", "PCBCRPOISSON_", NULL};

/* "auto", or radices of which each is at least 2, up to max of them */
static PetscErrorCode parse_radices(PC pc, const char option[], const char text[], PetscInt max, PetscInt *n,
                                    PetscInt radix[])
{
  char wrong[160], many[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(wrong, sizeof(wrong), "not a number%s: give `auto` or %s", max > 1 ? " list" : "",
                          max > 1 ? "the radix of each level, such as 8,16,32" : "a radix, such as 2, 4, 8 or 16"));
  PetscCall(PetscSNPrintf(many, sizeof(many), "more than %" PetscInt_FMT " level%s", max,
                          max > 1 ? "s" : ": give -pc_bcrpoisson_schedule for a radix per level"));
  PetscCall(BCROptionIntegers(pc, option, text, "auto", wrong, many, max, n, radix));
  for (PetscInt l = 0; l < *n; ++l) {
    PetscCheck(radix[l] >= 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s %s: a radix is at least 2: give `auto`, 2, 4, 8, ...", option, text);
    PetscCheck(radix[l] <= BCR_MAX_RADIX, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s %s: a radix is at most %d: one beyond the size of the grid is as good as any other", option, text,
               BCR_MAX_RADIX);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode parse_radix(PC pc, const char option[], const char text[], PetscInt *n, void *values)
{
  PetscFunctionBegin;
  PetscCall(parse_radices(pc, option, text, 1, n, (PetscInt *)values));
  if (!*n) *(PetscInt *)values = PCBCRPOISSON_RADIX_AUTO;
  *n = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_radix(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscInt radix = *(const PetscInt *)values;

  PetscFunctionBegin;
  (void)option, (void)n;
  PetscCheck(radix >= 2 || radix == PCBCRPOISSON_RADIX_AUTO, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Radix %" PetscInt_FMT ": it must be at least 2, or PCBCRPOISSON_RADIX_AUTO", radix);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode parse_schedule(PC pc, const char option[], const char text[], PetscInt *n, void *values)
{
  PetscFunctionBegin;
  PetscCall(parse_radices(pc, option, text, BCR_MAX_LEVELS, n, (PetscInt *)values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_schedule(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscInt *radix = (const PetscInt *)values;

  PetscFunctionBegin;
  (void)option;
  PetscCheck(n >= 0 && n <= BCR_MAX_LEVELS, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "A schedule has 0 (automatic) to %d levels, not %" PetscInt_FMT, BCR_MAX_LEVELS, n);
  for (PetscInt l = 0; l < n; ++l)
    PetscCheck(radix[l] >= 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "Level %" PetscInt_FMT " of the schedule has radix %" PetscInt_FMT ": it must be at least 2", l,
               radix[l]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_spacing(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscReal *spacing = (const PetscReal *)values;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; ++i)
    PetscCheck(spacing[i] > 0 && !PetscIsInfOrNanReal(spacing[i]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "%s: spacing %g of axis %c: it must be positive", option, (double)spacing[i],
               (char)('x' + i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator is the user's then, unless -pc_bcrpoisson_operator, which is read later, says otherwise */
static PetscErrorCode given_spacing(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  bcr->dim = 0;
  if (bcr->source != PCBCRPOISSON_OPERATOR_USER) BCROptionsChanged(pc, PETSC_FALSE);
  bcr->source = PCBCRPOISSON_OPERATOR_USER;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode parse_ends(PC pc, const char option[], const char text[], PetscInt *n, void *values)
{
  PCBCRPoissonEnd *end = (PCBCRPoissonEnd *)values;
  const char *s = text;

  PetscFunctionBegin;
  *n = 0;
  while (PETSC_TRUE) {
    char word[32];
    size_t length = strcspn(s, ",");
    PetscInt e = -1;
    PetscBool same = PETSC_FALSE;

    PetscCall(PetscStrncpy(word, s, PetscMin(length + 1, sizeof(word))));
    while (!same && ++e <= PCBCRPOISSON_PERIODIC) PetscCall(PetscStrcasecmp(word, PCBCRPoissonEnds[e], &same));
    PetscCheck(same, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s %s: no end is called \"%s\": they are dirichlet, neumann, cell_neumann, cell_dirichlet and periodic",
               option, text, word);
    PetscCheck(*n < 6, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s %s: more than 6 ends: give low and high of x, y and z", option, text);
    end[(*n)++] = (PCBCRPoissonEnd)e;
    if (!s[length]) break;
    s += length + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_scale(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscReal scale = *(const PetscReal *)values;

  PetscFunctionBegin;
  (void)n;
  PetscCheck(scale != 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%s %g: it must be finite and not zero", option, (double)scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_operator(PC pc, PetscInt dim, const PetscReal spacing[], const PCBCRPoissonEnd ends[],
                                   PetscReal shift, PetscReal scale)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCheck(dim >= 1 && dim <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Dimension %" PetscInt_FMT ": it must be 1, 2 or 3", dim);
  for (PetscInt d = 0; d < dim; ++d)
    PetscCheck(spacing[d] > 0 && !PetscIsInfOrNanReal(spacing[d]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "Spacing %g of axis %c: it must be positive", (double)spacing[d],
               (char)('x' + d));
  for (PetscInt e = 0; e < 2 * dim && ends; ++e)
    PetscCheck((int)ends[e] >= 0 && ends[e] <= PCBCRPOISSON_PERIODIC, PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "End %" PetscInt_FMT " is %d, which is no PCBCRPoissonEnd", e, (int)ends[e]);
  PetscCheck(!PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Shift %g: it must be finite", (double)shift);
  PetscCheck(scale != 0 && !PetscIsInfOrNanReal(scale), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Scale %g: it must be finite and not zero", (double)scale);
  bcr->dim = dim;
  bcr->nspacing = dim;
  bcr->nends = ends ? 2 * dim : 0;
  bcr->shift = shift;
  bcr->scale = scale;
  bcr->source = PCBCRPOISSON_OPERATOR_USER;
  for (PetscInt d = 0; d < dim; ++d) bcr->spacing[d] = spacing[d];
  for (PetscInt e = 0; e < bcr->nends; ++e) bcr->end[e] = ends[e];
  BCROptionsChanged(pc, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_operator(PC pc, PetscInt *dim, PetscReal spacing[], PCBCRPoissonEnd ends[], PetscReal *shift,
                                   PetscReal *scale)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (dim) *dim = bcr->dim ? bcr->dim : (bcr->nspacing > 1 ? bcr->nspacing : 0);
  for (PetscInt d = 0; d < 3 && spacing; ++d) spacing[d] = bcr->nspacing == 1 ? bcr->spacing[0] : bcr->spacing[d];
  for (PetscInt e = 0; e < 6 && ends; ++e)
    ends[e] = bcr->nends == 1 ? bcr->end[0] : (e < bcr->nends ? bcr->end[e] : PCBCRPOISSON_DIRICHLET);
  if (shift) *shift = bcr->shift;
  if (scale) *scale = bcr->scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_robin(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscReal *robin = (const PetscReal *)values;

  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= 6, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " Robin values: two for each axis are 2, 4 or 6", n);
  for (PetscInt e = 0; e < n; ++e)
    PetscCheck(!PetscIsInfOrNanReal(robin[e]), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s: value %g of the %s end of axis %c: it must be finite", option ? option : "Robin values",
               (double)robin[e], e % 2 ? "high" : "low", (char)('x' + e / 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_mixed(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscReal *mixed = (const PetscReal *)values;

  PetscFunctionBegin;
  PetscCheck(n == 0 || n == 1 || n == 4, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%s: %" PetscInt_FMT
             " factors of products of axes: one in two dimensions (xy), four in three (xy, xz, yz, xyz)",
             option ? option : "Mixed terms", n);
  for (PetscInt e = 0; e < n; ++e)
    PetscCheck(!PetscIsInfOrNanReal(mixed[e]), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s: factor %g: it must be finite", option ? option : "Mixed terms", (double)mixed[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_imaginary(PC pc, const char option[], PetscInt n, const void *values)
{
  const PetscReal tau = *(const PetscReal *)values;

  PetscFunctionBegin;
  (void)n;
  PetscCheck(!PetscIsInfOrNanReal(tau), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%s: %g: it must be finite", option ? option : "Imaginary part of the shift", (double)tau);
  PetscCheck(tau == 0 || PetscDefined(USE_COMPLEX), PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "%s: %g: this PETSc has real scalars, and complex shifts are for those with complex ones "
             "(--with-scalar-type=complex)",
             option ? option : "Imaginary part of the shift", (double)tau);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ranks gave must be the same, which set-up looks at */
static PetscErrorCode set_operator_axis(PC pc, DMDirection axis, PetscInt n, const PetscReal lower[],
                                        const PetscReal diagonal[], const PetscReal upper[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscReal *kept = NULL;

  PetscFunctionBegin;
  PetscCheck(axis == DM_X || axis == DM_Y || axis == DM_Z, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Axis %d: it must be DM_X, DM_Y or DM_Z", (int)axis);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows of axis %c: as many as it has nodes, or 0 for a uniform one", n,
             (char)('x' + axis));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCheck(!PetscIsInfOrNanReal(lower[i]) && !PetscIsInfOrNanReal(diagonal[i]) && !PetscIsInfOrNanReal(upper[i]),
               PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "Row %" PetscInt_FMT " of axis %c is (%g, %g, %g): its numbers must be finite", i, (char)('x' + axis),
               (double)lower[i], (double)diagonal[i], (double)upper[i]);
    PetscCheck(lower[i] <= 0 && upper[i] <= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "Row %" PetscInt_FMT
               " of axis %c is (%g, %g, %g): what it has beside the diagonal must not be positive, "
               "the sign of all is in the scale of PCBCRPoissonSetOperator()",
               i, (char)('x' + axis), (double)lower[i], (double)diagonal[i], (double)upper[i]);
  }
  if (n) {
    PetscCall(PetscMalloc1(3 * (size_t)n, &kept));
    PetscCall(PetscArraycpy(kept, lower, n));
    PetscCall(PetscArraycpy(kept + n, diagonal, n));
    PetscCall(PetscArraycpy(kept + 2 * (size_t)n, upper, n));
  }
  PetscCall(PetscFree(bcr->axis[axis]));
  bcr->axis[axis] = kept;
  bcr->naxis[axis] = n;
  if (n) bcr->source = PCBCRPOISSON_OPERATOR_USER;
  BCROptionsChanged(pc, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_operator_axis(PC pc, DMDirection axis, PetscInt *n, const PetscReal *lower[],
                                        const PetscReal *diagonal[], const PetscReal *upper[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscInt rows;

  PetscFunctionBegin;
  PetscCheck(axis == DM_X || axis == DM_Y || axis == DM_Z, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Axis %d: it must be DM_X, DM_Y or DM_Z", (int)axis);
  rows = bcr->naxis[axis];
  if (n) *n = rows;
  if (lower) *lower = bcr->axis[axis];
  if (diagonal) *diagonal = rows ? bcr->axis[axis] + rows : NULL;
  if (upper) *upper = rows ? bcr->axis[axis] + 2 * (size_t)rows : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_operator_times(PC pc, DMDirection along, DMDirection of, PetscInt n, const PetscReal times[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscReal *kept = NULL;

  PetscFunctionBegin;
  PetscCheck(along <= DM_Z && of <= DM_Z && along != of, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Axes %d and %d: they must be two of DM_X, DM_Y and DM_Z", (int)along, (int)of);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " numbers along axis %c: as many as it has nodes, or 0 for none", n, (char)('x' + along));
  for (PetscInt i = 0; i < n; ++i)
    PetscCheck(times[i] > 0 && !PetscIsInfOrNanReal(times[i]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "Number %" PetscInt_FMT " along axis %c is %g: it must be positive", i,
               (char)('x' + along), (double)times[i]);
  if (n) {
    PetscCall(PetscMalloc1(n, &kept));
    PetscCall(PetscArraycpy(kept, times, n));
  }
  PetscCall(PetscFree(bcr->times));
  bcr->times = kept;
  bcr->ntimes = n;
  bcr->along = along;
  bcr->timed = of;
  BCROptionsChanged(pc, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_operator_times(PC pc, DMDirection *along, DMDirection *of, PetscInt *n,
                                         const PetscReal *times[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (along) *along = bcr->along;
  if (of) *of = bcr->timed;
  if (n) *n = bcr->ntimes;
  if (times) *times = bcr->times;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_removed_constant(PC pc, PetscReal *removed)
{
  PetscFunctionBegin;
  PetscCall(BCRPoissonUpdateRemoved(pc));
  *removed = ((PC_BCRPoisson *)pc->data)->removed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode get_capacitance_solves(PC pc, PetscInt *rows, PetscInt *solves)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  BCRCapacitanceInfo info;

  PetscFunctionBegin;
  if (!bcr->cap) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCapacitanceGetInfo(bcr->cap, &info));
  if (rows) *rows = info.rows;
  if (solves) *solves = bcr->boxes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for KSPBCRPOISSON, which is not told from other users of PCMatApply() */
static PetscErrorCode set_refined(PC pc, PetscBool refined)
{
  PetscFunctionBegin;
  ((PC_BCRPoisson *)pc->data)->refined = refined;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the file has, with the functions of users who have arrays */
static PetscErrorCode take_axes(PC pc, const BCRAxesFile *f)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; ++d) {
    const PetscInt n = f->n[d];
    PetscReal *row;
    PetscErrorCode ierr;

    if (!n) continue;
    PetscCall(PetscMalloc1(3 * (size_t)n, &row));
    for (PetscInt i = 0; i < 3 * n; ++i) row[i / 3 + n * (i % 3)] = f->values[d][i];
    ierr = set_operator_axis(pc, (DMDirection)d, n, row, row + n, row + 2 * (size_t)n);
    PetscCall(PetscFree(row));
    PetscCall(ierr);
  }
  if (f->n[3]) PetscCall(set_operator_times(pc, f->along, f->of, f->n[3], f->values[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode given_axes(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRAxesFile file;
  char option[256];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(option, sizeof(option), "-%spc_bcrpoisson_axes_file (or -%sksp_bcrpoisson_axes_file)",
                          BCRPrefix(pc), BCRPrefix(pc)));
  PetscCall(BCRAxesFileRead(pc, option, bcr->axesfile, &file));
  ierr = take_axes(pc, &file);
  PetscCall(BCRAxesFileFree(&file));
  PetscCall(ierr);
  if (bcr->source != PCBCRPOISSON_OPERATOR_USER) BCROptionsChanged(pc, PETSC_FALSE);
  bcr->source = PCBCRPOISSON_OPERATOR_USER;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define AT(field)     offsetof(PC_BCRPoisson, field)
#define METHODS(name) BCR_OPTION_METHODS(PCBCRPoisson, name)
#define PLAN          BCR_OPTION_PLAN

/* in the order of -help; spacing comes before operator, of which it changes the default */
/* clang-format off */
static const BCROption table[] = {
  {"radix", "Radix of the reduction: auto, 2, 4, 8, 16, ...", BCR_OPTION_INT, AT(radix), PLAN, NULL,
   PCBCRPOISSON_RADIX_AUTO, METHODS(Radix), .none = "auto", .parse = parse_radix, .check = check_radix},
  {"schedule", "Radix of each level, finest first, such as 8,16,32 (overrides the radix), or auto", BCR_OPTION_INT,
   AT(schedule), PLAN, NULL, 0, METHODS(Schedule), .max = BCR_MAX_LEVELS, .count = AT(nlevels), .none = "auto",
   .parse = parse_schedule, .check = check_schedule},
  {"backend", "Where the work is done", BCR_OPTION_ENUM, AT(backend), PLAN, PCBCRPoissonBackends,
   PCBCRPOISSON_BACKEND_AUTO, METHODS(Backend)},
  {"transport", "How data move between the GPUs of several ranks", BCR_OPTION_ENUM, AT(transport), PLAN,
   PCBCRPoissonTransports, PCBCRPOISSON_TRANSPORT_AUTO, METHODS(Transport)},
  {"precision", "Precision of the work inside", BCR_OPTION_ENUM, AT(precision), PLAN, PCBCRPoissonPrecisions,
   sizeof(PetscReal) < sizeof(double) ? PCBCRPOISSON_PRECISION_SINGLE : PCBCRPOISSON_PRECISION_DOUBLE,
   METHODS(Precision)},
  {"fit", "What to do with a matrix that is not separable", BCR_OPTION_ENUM, AT(fit), 0, PCBCRPoissonFits,
   PCBCRPOISSON_FIT_AUTO, METHODS(Fit)},
  {"capacitance", "What to do with a matrix of which some rows are not those of a separable operator", BCR_OPTION_ENUM,
   AT(capacitance), 0, PCBCRPoissonCapacitances, PCBCRPOISSON_CAPACITANCE_AUTO, METHODS(Capacitance)},
  {"capacitance_max_rows", "Directions of that system that are kept from solve to solve, at most", BCR_OPTION_INT,
   AT(directions), 0, NULL, 2000, METHODS(CapacitanceMaxRows), .least = 1, .why = "at least one direction is kept"},
  {"recursive", "A given radix or schedule: recursion in three dimensions", BCR_OPTION_BOOL, AT(recursive), PLAN, NULL,
   PETSC_FALSE, METHODS(Recursive)},
  {"tune", "Time several plans at set-up and take the fastest", BCR_OPTION_BOOL, AT(tune), PLAN, NULL, PETSC_FALSE,
   METHODS(Tune)},
  {"tune_file", "File that keeps what the optimizer found", BCR_OPTION_STRING, AT(tunefile), PLAN, NULL, 0,
   METHODS(TuneFile)},
  {"graph", "On a GPU launch the kernels of a solve as one CUDA graph", BCR_OPTION_BOOL, AT(graph), PLAN, NULL,
   PETSC_TRUE, METHODS(Graph)},
  {"slab_ranks", "Ranks of a node that share a slab, 0: as many as is best", BCR_OPTION_INT, AT(slabranks), PLAN,
   .why = "a number of ranks, or 0 for what is best"},
  {"launch", "Launch parameters of a GPU, 0: the default (developer, see BCRCoreOptions)", BCR_OPTION_INT, AT(launch),
   PLAN, .max = BCR_LAUNCH},
  {"isa", "Instruction set, or the next lower one that the machine has (developer)", BCR_OPTION_ENUM, AT(isa), PLAN,
   .words = BCRInstructionSets},
  BCR_PLACE_OPTIONS(PC_BCRPoisson, PCBCRPoisson),
  BCR_OTHERWISE_OPTION(PC_BCRPoisson, PCBCRPoisson),
  {"axes_file", "File with arrays of the user's operator", BCR_OPTION_STRING, AT(axesfile), 0,
   .setter = "PCBCRPoissonSetOperatorAxis", .given = given_axes},
  {"spacing", "Spacing of the user's operator along x,y,z, or one for all", BCR_OPTION_REAL, AT(spacing), 0,
   .setter = "PCBCRPoissonSetOperator", .max = 3, .count = AT(nspacing), .check = check_spacing,
   .given = given_spacing},
  {"ends", "Ends of the user's operator, low and high of x,y,z, or one for all: dirichlet neumann cell_neumann "
   "cell_dirichlet periodic", BCR_OPTION_ENUM, AT(end), 0, PCBCRPoissonEnds, .setter = "PCBCRPoissonSetOperator",
   .max = 6, .count = AT(nends), .none = "dirichlet", .parse = parse_ends},
  {"shift", "Shift of the user's operator: scale (-Laplacian + shift)", BCR_OPTION_REAL, AT(shift), 0, NULL, 0,
   .setter = "PCBCRPoissonSetOperator"},
  {"scale", "Scale of the user's operator: scale (-Laplacian + shift)", BCR_OPTION_REAL, AT(scale), 0, NULL, 1,
   .setter = "PCBCRPoissonSetOperator", .check = check_scale},
  {"robin", "b of u' + b u = 0, u' outward, at Neumann ends of the user's operator, low and high of x,y,z",
   BCR_OPTION_REAL, AT(robin), 0, NULL, 0, METHODS(OperatorRobin), .max = 6, .count = AT(nrobin),
   .check = check_robin},
  {"mixed", "Factors of D_x D_y, or D_x D_y, D_x D_z, D_y D_z, D_x D_y D_z, in the user's operator, D second differences",
   BCR_OPTION_REAL, AT(mixed), 0, NULL, 0, METHODS(OperatorMixed), .max = 4, .count = AT(nmixed),
   .check = check_mixed},
  {"shift_imaginary", "Imaginary part of the shift of the user's operator", BCR_OPTION_REAL, AT(tau), 0, NULL, 0,
   METHODS(OperatorShiftImaginary), .check = check_imaginary},
  {"operator", "Where the coefficients come from", BCR_OPTION_ENUM, AT(source), BCR_OPTION_IMPLIED,
   PCBCRPoissonOperatorSources, PCBCRPOISSON_OPERATOR_MATRIX, METHODS(OperatorSource)}
};
/* clang-format on */

static const BCRMethodEntry methods[] = {
  {"PCBCRPoissonSetOperator",          (BCRMethod)set_operator          },
  {"PCBCRPoissonGetOperator",          (BCRMethod)get_operator          },
  {"PCBCRPoissonSetOperatorAxis",      (BCRMethod)set_operator_axis     },
  {"PCBCRPoissonGetOperatorAxis",      (BCRMethod)get_operator_axis     },
  {"PCBCRPoissonSetOperatorTimes",     (BCRMethod)set_operator_times    },
  {"PCBCRPoissonGetOperatorTimes",     (BCRMethod)get_operator_times    },
  {"PCBCRPoissonGetRemovedConstant",   (BCRMethod)get_removed_constant  },
  {"PCBCRPoissonGetCapacitanceSolves", (BCRMethod)get_capacitance_solves},
  {"PCBCRPoissonSetFromOptions",       (BCRMethod)BCROptionsRead        },
  {"PCBCRPoissonSetRefined",           (BCRMethod)set_refined           },
  {"BCRExplain",                       (BCRMethod)BCRPoissonExplain     }
};

const BCROptions BCRPoissonOptions = {"PCBCRPOISSON",
                                      "-pc_bcrpoisson_",
                                      "BCR Poisson options",
                                      PETSC_STATIC_ARRAY_LENGTH(table),
                                      PETSC_STATIC_ARRAY_LENGTH(methods),
                                      table,
                                      methods,
                                      AT(replan)};
