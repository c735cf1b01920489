#include "options.h"
#include "../src/base/agree.h"
#include <stdlib.h>

const char *const BCRInstructionSets[] = {"auto", "baseline", "avx2", "avx512", "BCRInstructionSet", "BCR_ISA_", NULL};

#define BCR_OPTIONS_MAX 32 /* of a PC, as many as BCRSame() compares */

/* room for the values of any option while it is read */
typedef union {
  PetscBool on;
  PetscInt number[BCR_OPTION_MAX];
  PetscReal real[BCR_OPTION_MAX];
  PetscEnum word[BCR_OPTION_MAX];
} Values;

/* -------- one option -------- */

static const BCROptions *options_of(PC pc)
{
  return ((const BCROptionsOwner *)pc->data)->options;
}

static void *option_field(PC pc, size_t offset)
{
  return (char *)pc->data + offset;
}

static PetscInt option_length(PC pc, const BCROption *o)
{
  if (!o->max) return 1;
  return o->count ? *(const PetscInt *)option_field(pc, o->count) : o->max;
}

static char *option_string(PC pc, const BCROption *o)
{
  return *(char **)option_field(pc, o->offset);
}

/* bytes of one value */
static size_t option_size(const BCROption *o)
{
  switch (o->type) {
  case BCR_OPTION_BOOL:
    return sizeof(PetscBool);
  case BCR_OPTION_INT:
    return sizeof(PetscInt);
  case BCR_OPTION_REAL:
    return sizeof(PetscReal);
  case BCR_OPTION_ENUM:
    return sizeof(PetscEnum);
  case BCR_OPTION_STRING:
    break;
  }
  return sizeof(char *);
}

/* value k, of an option that is no string, as a number */
static double option_number(PC pc, const BCROption *o, PetscInt k)
{
  const void *value = option_field(pc, o->offset + (size_t)k * option_size(o));
  int word;

  switch (o->type) {
  case BCR_OPTION_BOOL:
    return *(const PetscBool *)value ? 1 : 0;
  case BCR_OPTION_INT:
    return (double)*(const PetscInt *)value;
  case BCR_OPTION_REAL:
    return (double)*(const PetscReal *)value;
  case BCR_OPTION_ENUM:
    memcpy(&word, value, sizeof(word));
    return (double)word; /* enumerations of any type */
  case BCR_OPTION_STRING:
    break;
  }
  return 0;
}

static PetscBool option_is_standard(PC pc, const BCROption *o)
{
  if (o->type == BCR_OPTION_STRING) return option_string(pc, o) ? PETSC_FALSE : PETSC_TRUE;
  if (o->count) return option_length(pc, o) ? PETSC_FALSE : PETSC_TRUE;
  for (PetscInt k = 0; k < option_length(pc, o); k++)
    if (option_number(pc, o, k) != o->standard) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The value as one would give it */
static PetscErrorCode option_text(PC pc, const BCROption *o, size_t size, char text[])
{
  PetscFunctionBegin;
  text[0] = 0;
  if (o->none && option_is_standard(pc, o)) PetscCall(PetscStrncpy(text, o->none, size));
  else if (o->type == BCR_OPTION_STRING)
    PetscCall(PetscStrncpy(text, option_string(pc, o) ? option_string(pc, o) : "", size));
  else {
    for (PetscInt k = 0; k < option_length(pc, o); k++) {
      const double value = option_number(pc, o, k);
      char one[32];

      if (o->type == BCR_OPTION_BOOL) PetscCall(PetscStrncpy(one, value != 0 ? "on" : "off", sizeof(one)));
      else if (o->type == BCR_OPTION_ENUM) PetscCall(PetscStrncpy(one, o->words[(int)value], sizeof(one)));
      else PetscCall(PetscSNPrintf(one, sizeof(one), "%.15g", value));
      if (k) PetscCall(PetscStrlcat(text, ",", size));
      PetscCall(PetscStrlcat(text, one, size));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCROptionsChanged(PC pc, PetscBool plan)
{
  const BCROptions *options = options_of(pc);

  pc->setupcalled = PETSC_FALSE;
  if (plan && options->replan) *(PetscBool *)option_field(pc, options->replan) = PETSC_TRUE;
}

/* option: as of check in BCROption */
static PetscErrorCode option_check(PC pc, const BCROption *o, const char option[], PetscInt n, const void *values)
{
  PetscFunctionBegin;
  if (o->why)
    PetscCheck(*(const PetscInt *)values >= o->least, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s %" PetscInt_FMT ": %s", option ? option : o->setter, *(const PetscInt *)values, o->why);
  if (o->check) PetscCall((*o->check)(pc, option, n, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On several ranks every call counts: what is the same as before here may be new on another rank,
   and all are to set up, or to say that they differ */
static PetscErrorCode option_store(PC pc, const BCROption *o, PetscInt n, const void *values)
{
  void *field = option_field(pc, o->offset);
  const size_t bytes = (size_t)n * option_size(o);
  PetscBool same = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (o->type == BCR_OPTION_STRING) {
    const char *now = option_string(pc, o), *text = values && *(const char *)values ? (const char *)values : NULL;

    if (now && text) PetscCall(PetscStrcmp(now, text, &same));
    else same = (PetscBool)(!now && !text);
    if (!same) {
      PetscCall(PetscFree(*(char **)field));
      if (text) PetscCall(PetscStrallocpy(text, (char **)field));
    }
  } else {
    same = (PetscBool)(n == option_length(pc, o) && (!n || !memcmp(field, values, bytes)));
    if (n) PetscCall(PetscMemcpy(field, values, bytes));
    if (o->count) *(PetscInt *)option_field(pc, o->count) = n;
  }
  if (!same || size > 1) BCROptionsChanged(pc, (PetscBool)(!same && (o->flags & BCR_OPTION_PLAN)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- reading -------- */

PetscErrorCode BCROptionIntegers(PC pc, const char option[], const char text[], const char none[], const char wrong[],
                                 const char many[], PetscInt max, PetscInt *n, PetscInt number[])
{
  const char *s = text;
  PetscBool empty;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscStrcasecmp(text, none, &empty));
  while (!empty) {
    char *end;
    const long value = strtol(s, &end, 10);

    PetscCheck(end != s && (*end == ',' || !*end), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "%s %s: %s", option, text, wrong);
    PetscCheck(*n < max, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "%s %s: %s", option, text, many);
    /* one that no PetscInt holds is too large for whatever it is */
    number[(*n)++] = (PetscInt)PetscMax(PetscMin((PetscInt64)value, PETSC_MAX_INT), PETSC_MIN_INT);
    if (!*end) break;
    s = end + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN and infinity in a real option: newer PETScs refuse them in PetscOptionsReal(), with an error
   that does not name the option */
static PetscErrorCode option_finite(PC pc, const char name[])
{
  PetscReal value = 0;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetReal(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, name, &value, NULL));
  PetscCheck(!PetscIsInfOrNanReal(value), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "-%s%s %g: it must be finite", BCRPrefix(pc), name + 1, (double)value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* name: "-pc_bcrpoisson_radix"; option: the same behind the prefix */
static PetscErrorCode option_read(PC pc, const BCROption *o, const char name[], const char option[],
                                  BCROptionItems PetscOptionsObject)
{
  const char *man = o->setter ? o->setter : "None";
  char now[256] = "", text[PETSC_MAX_PATH_LEN] = "";
  PetscInt n = 1;
  PetscBool given = PETSC_FALSE;
  Values v;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&v, sizeof(v)));
  if (o->parse || o->type == BCR_OPTION_STRING) {
    PetscCall(option_text(pc, o, sizeof(now), now));
    PetscCall(PetscOptionsString(name, o->help, man, now, text, sizeof(text), &given));
    if (given && o->parse) PetscCall((*o->parse)(pc, option, text, &n, &v));
  } else {
    PetscCall(PetscMemcpy(&v, option_field(pc, o->offset), option_size(o) * (size_t)option_length(pc, o)));
    if (o->max) n = o->max;
    switch (o->type) {
    case BCR_OPTION_BOOL:
      PetscCall(PetscOptionsBool(name, o->help, man, v.on, &v.on, &given));
      break;
    case BCR_OPTION_INT:
      if (o->max) PetscCall(PetscOptionsIntArray(name, o->help, man, v.number, &n, &given));
      else PetscCall(PetscOptionsInt(name, o->help, man, v.number[0], &v.number[0], &given));
      for (PetscInt k = n; k < o->max && !o->count; k++) v.number[k] = 0;
      break;
    case BCR_OPTION_REAL:
      if (o->max && option_length(pc, o) == 1) /* one for all */
        for (PetscInt k = 1; k < o->max; k++) v.real[k] = v.real[0];
      if (o->max) PetscCall(PetscOptionsRealArray(name, o->help, man, v.real, &n, &given));
      else {
        PetscCall(option_finite(pc, name));
        PetscCall(PetscOptionsReal(name, o->help, man, v.real[0], &v.real[0], &given));
      }
      break;
    case BCR_OPTION_ENUM:
      PetscCall(PetscOptionsEnum(name, o->help, man, o->words, v.word[0], &v.word[0], &given));
      break;
    case BCR_OPTION_STRING:
      break;
    }
  }
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(option_check(pc, o, option, n, &v));
  if (o->max && !o->count) n = o->max;
  PetscCall(option_store(pc, o, n, o->type == BCR_OPTION_STRING ? (const void *)text : (const void *)&v));
  if (o->given) PetscCall((*o->given)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode options_read(PC pc, const char stem[], BCROptionItems PetscOptionsObject)
{
  const BCROptions *options = options_of(pc);
  char name[64], option[128];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < options->noptions; k++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", stem, options->option[k].name));
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%s%s", BCRPrefix(pc), name + 1));
    PetscCall(option_read(pc, &options->option[k], name, option, PetscOptionsObject));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionsRead(PC pc, const char stem[], BCROptionItems PetscOptionsObject)
{
  PetscErrorCode ierr;
  char what[96];

  PetscFunctionBegin;
  ierr = options_read(pc, stem, PetscOptionsObject);
  PetscCall(PetscSNPrintf(what, sizeof(what), "has options of %s that are wrong, as its own message says",
                          options_of(pc)->type));
  PetscCall(BCRFaultShare(PetscObjectComm((PetscObject)pc), ierr, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionsSetFromOptions(PC pc, BCROptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, options_of(pc)->head);
  PetscCall(BCROptionsRead(pc, options_of(pc)->stem, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the user's functions -------- */

/* The option of the setter or getter with this name; NULL: the PC, of whatever type it is, has none.
   What a type composes is taken off when the PC gets another one */
static PetscErrorCode option_find(PC pc, const char name[], const BCROption **found)
{
  BCRMethod method = NULL;
  char composed[96];

  PetscFunctionBegin;
  *found = NULL;
  PetscCall(PetscSNPrintf(composed, sizeof(composed), "%s_C", name));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, composed, &method));
  for (PetscInt k = 0; method && k < options_of(pc)->noptions && !*found; k++) {
    const BCROption *o = &options_of(pc)->option[k];

    if (o->set == method || o->get == method) *found = o;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionSet(PC pc, const char setter[], PetscInt n, const void *values)
{
  const BCROption *o;
  int word = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(option_find(pc, setter, &o));
  if (!o) PetscFunctionReturn(PETSC_SUCCESS);
  if (o->max) {
    PetscValidLogicalCollectiveInt(pc, n, 2);
    if (n > 0) BCRAssertPointer(values, 3);
  } else if (o->type == BCR_OPTION_BOOL) PetscValidLogicalCollectiveBool(pc, *(const PetscBool *)values, 2);
  else if (o->type == BCR_OPTION_INT) PetscValidLogicalCollectiveInt(pc, *(const PetscInt *)values, 2);
  else if (o->type == BCR_OPTION_ENUM) {
    int nwords = 0;

    memcpy(&word, values, sizeof(word));
    PetscValidLogicalCollectiveEnum(pc, word, 2);
    while (o->words[nwords]) nwords++;
    nwords -= 2; /* name of the type, prefix */
    PetscCheck(word >= 0 && word < nwords, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "%d is no %s",
               word, o->words[nwords]);
  }
  PetscCall(option_check(pc, o, NULL, n, values));
  PetscCall(option_store(pc, o, n, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionGet(PC pc, const char getter[], PetscInt *n, void *value)
{
  const BCROption *o;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCall(option_find(pc, getter, &o));
  PetscCheck(o, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "Cannot locate function %s_C in object", getter);
  if (n) *n = option_length(pc, o);
  if (o->max) {
    if (value) *(const void **)value = option_field(pc, o->offset);
  } else {
    BCRAssertPointer(value, 2);
    PetscCall(PetscMemcpy(value, option_field(pc, o->offset), option_size(o)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- all options -------- */

/* A number that is the same where the values are: one value itself, else a hash of all (FNV-1a),
   of which a double holds 52 bits */
static double option_fingerprint(PC pc, const BCROption *o)
{
  const PetscBool string = (PetscBool)(o->type == BCR_OPTION_STRING);
  const unsigned char *byte = (const unsigned char *)(string ? option_string(pc, o) : option_field(pc, o->offset));
  size_t bytes;
  PetscInt64 hash = 0;
  unsigned long long h = 14695981039346656037ULL;

  if (!string && !o->max) return option_number(pc, o, 0);
  if (string) bytes = byte ? strlen((const char *)byte) : 0;
  else bytes = option_size(o) * (size_t)option_length(pc, o);
  for (size_t k = 0; k < bytes; k++) h = (h ^ byte[k]) * 1099511628211ULL;
  hash = (PetscInt64)(h >> 12);
  return (double)hash;
}

PetscErrorCode BCROptionsCheckSame(PC pc)
{
  const BCROptions *options = options_of(pc);
  const char *names[BCR_OPTIONS_MAX];
  char of[96], words[BCR_OPTIONS_MAX][48];
  double mine[BCR_OPTIONS_MAX];
  PetscInt n = 0;

  PetscFunctionBegin;
  PetscCheck(options->noptions <= BCR_OPTIONS_MAX, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " options to compare", options->noptions);
  PetscCall(PetscSNPrintf(of, sizeof(of), "-%s%s", BCRPrefix(pc), options->stem + 1));
  for (PetscInt k = 0; k < options->noptions; k++) {
    const BCROption *o = &options->option[k];

    if (o->flags & BCR_OPTION_RANK) continue;
    PetscCall(PetscSNPrintf(words[n], sizeof(words[n]), "%s (or its setter)", o->name));
    names[n] = words[n];
    mine[n++] = option_fingerprint(pc, o);
  }
  PetscCall(BCRSame(PetscObjectComm((PetscObject)pc), of, n, names, mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionsView(PC pc, PetscViewer viewer)
{
  const BCROptions *options = options_of(pc);
  PetscBool any = PETSC_FALSE, implied = PETSC_FALSE;
  char text[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < options->noptions; k++) {
    const BCROption *o = &options->option[k];

    if (option_is_standard(pc, o) && !(implied && (o->flags & BCR_OPTION_IMPLIED))) continue;
    if (o->given) implied = PETSC_TRUE;
    PetscCall(option_text(pc, o, sizeof(text), text));
    if (!any) PetscCall(PetscViewerASCIIPrintf(viewer, "options:"));
    if (!any) PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    any = PETSC_TRUE;
    PetscCall(PetscViewerASCIIPrintf(viewer, " -%s%s%s %s", BCRPrefix(pc), options->stem + 1, o->name, text));
  }
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts them there, or takes them off */
static PetscErrorCode options_compose(PC pc, const BCROptions *options, PetscBool on)
{
  char name[96];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < options->noptions; k++) {
    const BCROption *o = &options->option[k];

    if (!o->set) continue;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s_C", o->setter));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, on ? o->set : NULL));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s_C", o->getter));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, on ? o->get : NULL));
  }
  for (PetscInt k = 0; k < options->nmethods; k++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s_C", options->method[k].name));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, on ? options->method[k].function : NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionsCreate(PC pc, const BCROptions *options)
{
  PetscFunctionBegin;
  ((BCROptionsOwner *)pc->data)->options = options;
  for (PetscInt k = 0; k < options->noptions; k++) {
    const BCROption *o = &options->option[k];
    void *field = option_field(pc, o->offset);
    const int word = (int)o->standard;

    if (o->max) continue; /* the data came as zeros: none of them, or all zero */
    switch (o->type) {
    case BCR_OPTION_BOOL:
      *(PetscBool *)field = word ? PETSC_TRUE : PETSC_FALSE;
      break;
    case BCR_OPTION_INT:
      *(PetscInt *)field = (PetscInt)word;
      break;
    case BCR_OPTION_REAL:
      *(PetscReal *)field = (PetscReal)o->standard;
      break;
    case BCR_OPTION_ENUM:
      memcpy(field, &word, sizeof(word));
      break;
    case BCR_OPTION_STRING:
      break;
    }
  }
  PetscCall(options_compose(pc, options, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROptionsDestroy(PC pc)
{
  const BCROptions *options = options_of(pc);

  PetscFunctionBegin;
  PetscCall(options_compose(pc, options, PETSC_FALSE));
  for (PetscInt k = 0; k < options->noptions; k++)
    if (options->option[k].type == BCR_OPTION_STRING)
      PetscCall(PetscFree(*(char **)option_field(pc, options->option[k].offset)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
