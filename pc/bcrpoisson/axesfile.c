/*
  Arrays of the user's operator in a text file (-pc_bcrpoisson_axes_file), for programs that call none of our functions:

      # what follows such a sign is not read
      axis y               a row of T_y in each line: lower, diagonal, upper
      0   3 -1
      -1  2 -1
      ...
      times x z            T_z is multiplied by a number for each row along x, one in each line
      1
      4
      ...
*/
#include "bcrpoisson.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a line's numbers go: an axis' rows, or times (3) */
typedef struct {
  PC pc;
  const char *option, *name;
  PetscInt line;     /* number of it */
  int what, columns; /* what -1: nothing so far */
} Place;

static PetscErrorCode place_fault(const Place *p, const char what[])
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)p->pc), PETSC_ERR_FILE_UNEXPECTED,
          "%s %s, line %" PetscInt_FMT
          ": %s. It wants lines \"axis y\", with a row \"lower diagonal upper\" of that axis "
          "in each line that follows, and \"times x z\", with a number for each row along x",
          p->option, p->name, p->line, what);
}

/* "axis y" or "times x z" */
static PetscErrorCode read_head(Place *p, const char line[], BCRAxesFile *f)
{
  char word[8], axis[2] = {0, 0};
  const int n = sscanf(line, "%7s %c %c", word, &axis[0], &axis[1]);
  PetscBool axes = PETSC_TRUE;

  PetscFunctionBegin;
  for (int k = 0; k < n - 1; k++) axes = (PetscBool)(axes && axis[k] >= 'x' && axis[k] <= 'z');
  if (n == 2 && axes && !strcmp(word, "axis")) p->what = axis[0] - 'x';
  else if (n == 3 && axes && !strcmp(word, "times")) p->what = 3;
  else PetscCall(place_fault(p, "this is no number, and no such line"));
  p->columns = p->what < 3 ? 3 : 1;
  if (p->what == 3) {
    f->along = (DMDirection)(axis[0] - 'x');
    f->of = (DMDirection)(axis[1] - 'x');
  }
  if (f->n[p->what]) PetscCall(place_fault(p, "what follows has been there before"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* values NULL: counts them */
static PetscErrorCode read_numbers(const Place *p, const char line[], BCRAxesFile *f)
{
  const char *s = line;

  PetscFunctionBegin;
  if (p->what < 0) PetscCall(place_fault(p, "numbers of no axis"));
  for (int k = 0; k < p->columns; k++) {
    char *end;
    const double v = strtod(s, &end);

    if (end == s) PetscCall(place_fault(p, p->columns == 3 ? "fewer than three numbers" : "no number"));
    if (f->values[p->what]) f->values[p->what][p->columns * f->n[p->what] + k] = (PetscReal)v;
    s = end;
  }
  while (isspace((unsigned char)*s)) s++;
  if (*s) PetscCall(place_fault(p, p->columns == 3 ? "more than three numbers" : "more than one number"));
  f->n[p->what]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_lines(Place *p, FILE *in, BCRAxesFile *f)
{
  char line[512];

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) f->n[k] = 0;
  p->what = -1;
  for (p->line = 1; fgets(line, sizeof(line), in); p->line++) {
    const char *s = line;

    if (!strchr(line, '\n') && !feof(in)) PetscCall(place_fault(p, "a line of more than 510 characters"));
    line[strcspn(line, "#\r\n")] = 0;
    while (isspace((unsigned char)*s)) s++;
    if (!*s) continue;
    if (*s == 'a' || *s == 't') PetscCall(read_head(p, s, f));
    else PetscCall(read_numbers(p, s, f));
  }
  if (ferror(in)) PetscCall(place_fault(p, "the file cannot be read any further"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRAxesFileRead(PC pc, const char option[], const char name[], BCRAxesFile *f)
{
  Place p = {pc, option, name, 0, -1, 0};
  FILE *in = fopen(name, "r");
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  PetscCheck(in, PetscObjectComm((PetscObject)pc), PETSC_ERR_FILE_OPEN, "%s %s: cannot be opened: %s", option, name,
             strerror(errno));
  for (int fill = 0; fill < 2 && !ierr; fill++) {
    for (int k = 0; k < 4 && fill && !ierr; k++)
      if (f->n[k]) ierr = PetscMalloc1((size_t)(k < 3 ? 3 : 1) * (size_t)f->n[k], &f->values[k]);
    rewind(in);
    if (!ierr) ierr = read_lines(&p, in, f);
  }
  (void)fclose(in);
  if (ierr) PetscCall(BCRAxesFileFree(f));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRAxesFileFree(BCRAxesFile *f)
{
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) PetscCall(PetscFree(f->values[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
