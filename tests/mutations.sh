#!/usr/bin/env bash
# Shows that the tests see what they are there to see: puts one mistake after another into a copy of the sources, builds what is needed and runs the tests that have to
# fail. By hand, about a quarter of an hour on two cores after the first build; not part of scripts/check. The table of the last run is tests/mutations.txt.
# usage: tests/mutations.sh [-n] [-o TABLE] [NAME...]     (NAME: patterns of mutations, default: all of them; -n: only looks for what they replace)
# Ends with 1 if a mutation survives, does not compile, or is no longer found in its file, or if a test fails without any.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
table='' dry=''
while getopts no: option; do
  case $option in n) dry=yes ;; o) table=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
wanted=("$@")
. "$root/scripts/lib.sh" # what MPI in containers needs, and the number of jobs

names=() files=() olds=() news=() tests=()
# mutation NAME FILE OLD NEW TEST...: OLD stands once in FILE. A test is [RANKS] FOLDER/PROGRAM [OPTION...]; they are run up to the first that fails
mutation() {
  local name=$1 p keep=
  for p in "${wanted[@]+"${wanted[@]}"}"; do if [[ $name == $p ]]; then keep=yes; fi; done
  if [ ${#wanted[@]} -gt 0 ] && [ -z "$keep" ]; then return; fi
  names+=("$name") files+=("$2") olds+=("$3") news+=("$4")
  shift 4
  tests+=("$(printf '%s\n' "$@")")
}

# ---- a solution that is not a number, or not there ----

mutation "NaN in the middle of a solution above 108 nodes" src/poisson/pass.c \
  'PetscCall(s->be->agree ? s->be->agree(s, ierr) : ierr);' \
  'if (BCRComponentNodes(&s->comp[0]) > 108) u[s->dof * (BCRComponentNodes(&s->comp[0]) / 2)] = (PetscScalar)NAN; PetscCall(s->be->agree ? s->be->agree(s, ierr) : ierr);' \
  'unit/solver -quick -cases 100' 'petsc/reader'
mutation "NaN in each slab above 350 nodes" src/poisson/pass.c \
  'PetscCall(s->be->agree ? s->be->agree(s, ierr) : ierr);' \
  'if (s->slabs.comm != MPI_COMM_NULL && BCRComponentNodes(&s->comp[0]) > 350) u[s->dof * (BCRComponentNodes(&s->comp[0]) / 2)] = (PetscScalar)NAN; PetscCall(s->be->agree ? s->be->agree(s, ierr) : ierr);' \
  '3 mpi/slab -quick -cases 60'
mutation "last entry of a row of a staged solve unwritten" src/poisson/backend_cpu.c \
  'for (PetscInt i = 0; i < n; i++) u[i * es] = (PetscReal)line[i];' \
  'for (PetscInt i = 0; i < n - 1; i++) u[i * es] = (PetscReal)line[i];' \
  'unit/solver -quick -cases 100'
mutation "NaN in the middle of PCNEATO's solution" pc/neato/apply.c \
  'PetscCall(BCRTriSolve(tri, (const PetscReal *)f, (PetscReal *)u));' \
  'PetscCall(BCRTriSolve(tri, (const PetscReal *)f, (PetscReal *)u)); if (neato->lines->size[0] > 1) u[neato->lines->dof * neato->lines->size[0] / 2] = (PetscScalar)NAN;' \
  '2 mpi/neatosolve'
mutation "NaN in the middle of a solution over ranks" src/tridiagonal/reduced.c \
  'if (after) BCRTransposeUnpack(&r->back, pre + r->rows, 1, r->nsys, r->index, r->here, after);' \
  'if (after) BCRTransposeUnpack(&r->back, pre + r->rows, 1, r->nsys, r->index, r->here, after); if (r->rows > 1) x[n / 2] = NAN;' \
  '2 mpi/reduced'
mutation "NaN in the middle of a compact derivative" src/compact/compact.c \
  'PetscCall(BCRTriSolve(c->lines, d, d));' \
  'PetscCall(BCRTriSolve(c->lines, d, d)); if (c->local > 4) d[c->inner * (c->local / 2)] = (PetscReal)NAN;' \
  '2 mpi/compact'
mutation "NaN in the right-hand side of a compact derivative" src/compact/stencil.c \
  'v[i] = sum;' \
  'v[i] = j == 1 && i == 1 ? (PetscReal)NAN : sum;' \
  '2 mpi/compact_stencil'

# ---- reading a matrix ----

mutation "ranks do not agree on a wrong plane" src/operator/planesread.c \
  'if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong[k], 1, MPI_INT, MPI_MAX, A->comm));' \
  '' \
  '3 mpi/reader'
mutation "ranks do not agree on rows where planes meet" src/operator/planesread.c \
  'if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, st, 27 * 7, MPI_DOUBLE, MPI_SUM, A->comm));' \
  '' \
  '3 mpi/reader'
mutation "rows of a plane 100 times looser" src/operator/readimpl.h \
  '#define BCR_PLANE_TOL 1e-14' \
  '#define BCR_PLANE_TOL 1e-12' \
  'petsc/reader'
mutation "row sums 100 times looser" src/operator/readimpl.h \
  '#define BCR_SUM_TOL (16 * BCR_EPS)' \
  '#define BCR_SUM_TOL (1600 * BCR_EPS)' \
  'petsc/reader'
mutation "row sums of a fit are not looked at" src/operator/fitpasses.c \
  '(PetscBool)(r->left.count > 0 && inside <= BCR_NULL_TOL * r->total.lo), null));' \
  '(PetscBool)(r->left.count > 0 && inside <= BCR_NULL_TOL * r->total.lo), null)); *null = PETSC_TRUE;' \
  '2 mpi/faults'
mutation "the reader loses its lines" src/operator/axesread.c \
  'PetscCall(PetscFree5(l->star, l->weight, l->low, l->up, l->diag));' \
  '(void)l;' \
  'petsc/failure -cycles 200' 'petsc/allocation -quick'
mutation "slightly indefinite operator accepted" src/operator/axis.c \
  'if (lo > (op->shift < 0 ? BCR_SUM_TOL * size : 0)) PetscFunctionReturn(PETSC_SUCCESS);' \
  'if (lo > -1e4 * BCR_SUM_TOL * size) PetscFunctionReturn(PETSC_SUCCESS);' \
  'petsc/reader'
mutation "other plane's diagonal where a rank has none of its own" src/operator/moves.c \
  'a.value = k % 2 ? 0 : plane->inv0;' \
  'a.value = k % 2 ? 0 : op->axis[k / 4].plane[1 - k / 2 % 2].inv0;' \
  '4 mpi/reader'
mutation "plane one row off in a slab" src/operator/moves.c \
  'plane == 1 ? g->N[d] - 1 : 0' \
  'plane == 1 ? g->N[d] - 2 : 0' \
  '4 mpi/reader'
mutation "row scales laid out as if there were no high plane" src/operator/moves.c \
  'g->N[d] - (op->axis[d].plane[1].present ? 1 : 0);' \
  'g->N[d];' \
  '4 mpi/reader'
mutation "only the first layer beside a box is read for a fit" src/operator/shell.c \
  'const PetscInt w = g->parts[d] > 1 ? width : 0;' \
  'const PetscInt w = g->parts[d] > 1 ? 1 : 0;' \
  '3 mpi/reader'
mutation "a fit's range takes the largest of one rank" src/operator/fitrange.c \
  'if (q->hi > sum->hi) {' \
  'if (0) {' \
  '3 mpi/reader' 'petsc/reader'

# ---- the solver of a box ----

mutation "new shift not given to the fallback of mixed precision" src/poisson/solver.c \
  'if (s->fallback[c->core]) PetscCall(s->be->core_shift(s->fallback[c->core], c->op.shift));' \
  '' \
  'mpi/mixed'
mutation "components share a core though their scales part" src/poisson/solver.c \
  'if (gamma != other || ops[l].shift != ops[m].shift || ops[l].scale != ops[m].scale) PetscFunctionReturn(PETSC_SUCCESS);' \
  'if (gamma != other || ops[l].shift != ops[m].shift) PetscFunctionReturn(PETSC_SUCCESS);' \
  'unit/solver -cases 0'
mutation "new shift not divided by the change of the axes" src/poisson/component.c \
  'c->op.shift /= gamma;' \
  '' \
  'unit/solver -cases 0'
mutation "couplings of planes not divided by the change of the axes" src/poisson/component.c \
  'plane->couplings[q] /= gamma;' \
  'plane->couplings[q] /= 1;' \
  'unit/solver -cases 0'
mutation "modes between an even and an odd end as between two odd ones" src/base/modes.c \
  '(l.sign < 0) + (r.sign < 0)' \
  '2 * (l.sign < 0 || r.sign < 0)' \
  'unit/ends'
mutation "any mode is constant" src/base/modes.c \
  'if (lambda[j] == 0) return j;' \
  'return j;' \
  'unit/ends'
mutation "half rows of Neumann ends unknown to the transpose" src/poisson/component.c \
  'h[i] = n > 1 && !x->lower ? BCRAxisGetEndWeight(x, i) : 1;' \
  'h[i] = 1;' \
  'unit/solver -quick -cases 100'
mutation "wrong neighbour in the residual of mixed precision" src/poisson/backend_cpu.c \
  'w.side[1] = row_real(&x->v, north, k);' \
  'w.side[1] = row_real(&x->v, south, k);' \
  'unit/solver -quick -cases 100'
mutation "mixed precision content with 1e-10" src/poisson/refine.c \
  'if (x.measure && !x.zero && !(j.error <= (j.slow ? REFINE_ENOUGH : REFINE_LIMIT))' \
  'if (x.measure && !x.zero && !(j.error <= 1e-7)' \
  '2 mpi/mixed'
mutation "a trial of mixed precision that never asks for double" src/poisson/refine.c \
  'c->wantdouble = j.grown;' \
  'c->wantdouble = PETSC_FALSE;' \
  '2 mpi/mixed'
mutation "slope of a plane with the other sign, transposed" src/poisson/planes.c \
  'if (transpose) term->factor = (double)plane->slope;' \
  'if (transpose) term->factor = -(double)plane->slope;' \
  'unit/solver -quick -cases 100'
mutation "edge nodes of the transpose in the order of the forward solve" src/poisson/planes.c \
  'for (int g = BCR_LINK_GROUPS - 1; g >= 0 && p->transpose; g--)' \
  'for (int g = 0; g < BCR_LINK_GROUPS && p->transpose; g++)' \
  'unit/solver -quick'
mutation "row factors twice in the coupling to a plane" src/poisson/planes.c \
  '!(c->op.left && !plane->couplings)' \
  '!(0 && !plane->couplings)' \
  'unit/solver -quick'

# ---- slabs ----

mutation "wrong fill where a plane is handed over" src/poisson/slab.c \
  'inner, mine, outer, plane->inv0, &plane->inv' \
  'inner, mine, outer, 1, &plane->inv' \
  '3 mpi/slab -quick -cases 60'
mutation "Neumann end counted as a whole row in the mean of slabs" src/poisson/slabrows.c \
  'r->weight[i] = rule.weight;' \
  'r->weight[i] = 1;' \
  '3 mpi/slab -quick -cases 60'
mutation "coupling of the last interior row for that of the interface" src/poisson/ranks_cpu.c \
  'row_get(r, u, in - 1, 1, r->p.low[mine->first + in], h->own);' \
  'row_get(r, u, in - 1, 1, r->p.low[mine->first + in - 1], h->own);' \
  '3 mpi/slab -quick -cases 120'
mutation "mean of a slab for that of all" src/poisson/ranks_cpu.c \
  'PetscCallMPI(MPI_Allreduce(sum, sum + 1, 1, MPI_DOUBLE, MPI_SUM, r->comm));' \
  'sum[1] = sum[0] * r->size;' \
  '3 mpi/slab -quick -cases 60'

# ---- lines ----

mutation "neighbours couple with 100 times the rounding" src/tridiagonal/tridiagonal.c \
  'ierr = BCRReducedCreate(t->comm, &ends, &t->reduced);' \
  'ends.eps *= 100; ierr = BCRReducedCreate(t->comm, &ends, &t->reduced);' \
  '2 mpi/tri' '2 mpi/neatosolve'
mutation "eps may differ between ranks" src/tridiagonal/reduced.c \
  'for (int k = 1; k < 6; k++) {' \
  'for (int k = 1; k < 5; k++) {' \
  '2 mpi/reduced'
mutation "a rank without memory for its neighbours' rows keeps it to itself" src/tridiagonal/neighbours.c \
  'BCRFaultShare(r->comm, BCRNeighboursRoom(r, give, &len, &array, &low, &diag, &up), BCR_NO_MEMORY)' \
  'BCRNeighboursRoom(r, give, &len, &array, &low, &diag, &up)' \
  '2 mpi/allocation'
mutation "cuts looked for from above only" src/tridiagonal/chains.c \
  'for (PetscInt dir = 0; dir < 2; dir++) {' \
  'for (PetscInt dir = 0; dir < 1; dir++) {' \
  'unit/chains'
mutation "growth of the response forgotten in a cut" src/tridiagonal/chains.c \
  'g = PetscMax(1., fabs(o / p) * g);' \
  'g = 1;' \
  'unit/chains'
mutation "zero pivot of a chain not noticed" src/tridiagonal/chains.c \
  'if (!(fabs(p) > 2 * (double)n * DBL_EPSILON * fabs(diag[j]) && fabs(p) <= DBL_MAX)' \
  'if (!(fabs(p) <= DBL_MAX)' \
  '2 mpi/reduced' '2 mpi/tri' '2 mpi/neatobad'
mutation "mixed precision of lines takes one correction" src/tridiagonal/local.c \
  't->corrections = PetscMax(2, k);' \
  't->corrections = 1;' \
  'unit/tri'
mutation "pivots taken for constant 1000 times too early" src/tridiagonal/thomas.c \
  'const double   tol = single ? 2e-8 : 4.5e-16;' \
  'const double   tol = single ? 2e-5 : 4.5e-13;' \
  'unit/tri'
mutation "responses of the line before for all lines" src/tridiagonal/tridiagonal.c \
  '!memcmp(&spec->rows[l], &spec->rows[l - 1], sizeof(*spec->rows))' \
  '!memcmp(spec->rows[l].row, spec->rows[l - 1].row, sizeof(spec->rows->row))' \
  '2 mpi/tri' '2 mpi/neatosolve'

# ---- recurrences ----

mutation "growing products by parts" src/recurrence/pscheme.c \
  'if (!(grown <= BCR_RECUR_GROWTH) || !IsFinite(x)) sound = PETSC_FALSE;' \
  'if (!IsFinite(x)) sound = PETSC_FALSE;' \
  'unit/pscheme'
mutation "growth of the rest of a recurrence forgotten" src/recurrence/pscheme.c \
  'if (!(PetscAbsScalar(product) <= most)) most =' \
  'if (0) most =' \
  'unit/pscheme'
mutation "growing products on ranks" src/recurrence/recurrence.c \
  'if (all[p].growth <= BCR_RECUR_GROWTH && !PetscIsInfOrNanScalar(before) && !PetscIsInfOrNanScalar(x)) continue;' \
  'if (!PetscIsInfOrNanScalar(before) && !PetscIsInfOrNanScalar(x)) continue;' \
  '3 mpi/recurrence'
mutation "layouts that differ on another rank" src/recurrence/recurrence.c \
  'mine.bad = bad ? 1 : 0;' \
  'mine.bad = bad && !rank ? 1 : 0;' \
  '3 mpi/recurrence'

# ---- compact differences ----

mutation "edge rows of the transpose one short" src/compact/band.c \
  'transpose->nfirst = first;' \
  'transpose->nfirst = first - 1;' \
  'unit/compact' '2 mpi/compact_stencil'
mutation "stencil not mirrored in the transpose" src/compact/band.c \
  'transpose->inner.c[k] = band->inner.c[band->inner.points - 1 - k];' \
  'transpose->inner.c[k] = band->inner.c[k];' \
  '2 mpi/compact_stencil'
mutation "ghost points above a rank one short" src/compact/stencil.c \
  'ghosts[1] = PetscMax(ghosts[1], r.start + r.points - start - local);' \
  'ghosts[1] = PetscMax(ghosts[1], r.start + r.points - start - local - 1);' \
  '2 mpi/compact_stencil'

# ---- PCs ----

mutation "an option may differ between ranks" pc/options.c \
  'mine[n++] = option_fingerprint(pc, o);' \
  'mine[n++] = o->type == BCR_OPTION_REAL ? 0 : option_fingerprint(pc, o);' \
  '2 mpi/badinput'
mutation "one solve with a fit that nobody chose" pc/bcrpoisson/apply.c \
  'PetscCall(refuse_fit(pc, c, "A solve without iterations (KSPPREONLY)"));' \
  '' \
  '2 mpi/faults'
mutation "the solver of the matrix before outlives a matrix that is refused" pc/bcrpoisson/setup.c \
  'BCROptionsChanged(pc, PETSC_FALSE);
  BCRCallElse(set_up(pc), (void)PCReset_BCRPoisson(pc), BCRPreSolveEnds(pc));' \
  'PetscCall(set_up(pc));' \
  'petsc/failure -cycles 20'
mutation "columns of a block solved with the stride of the right-hand sides" pc/bcrpoisson/apply.c \
  'PetscCall(BCRMovesGive(&bcr->moves, bcr->slab, u + (size_t)r * ldu));' \
  'PetscCall(BCRMovesGive(&bcr->moves, bcr->slab, u + (size_t)r * ldf));' \
  '4 mpi/objects'
mutation "NaN in the right-hand side found on its rank only" pc/bcrpoisson/apply.c \
  'PetscCall(BCRTakeFrom(PetscObjectComm((PetscObject)pc), found, &entry, sizeof(entry), &found));' \
  '' \
  '2 mpi/badinput'
mutation "singular lines not noticed" src/operator/linescheck.c \
  'if (all[l] <= (PetscReal)BCR_LINES_SINGULAR) bad = l;' \
  '' \
  'petsc/neatobad' '2 mpi/neatobad'

# ---- the engine ----

# mutate K FILE: fails where the text is not there, or more than once. How lines are broken and indented makes no difference
mutate() {
  OLD=${olds[$1]} NEW=${news[$1]} perl -0777 -pi -e '$o = join("\\s+", map { quotemeta } split(/\s+/, $ENV{OLD})); $n = () = /$o/g; $n == 1 or exit 3; s/$o/$ENV{NEW}/' "$2"
}
if [ -n "$dry" ]; then
  wrong=0
  for k in "${!names[@]}"; do
    cp "$root/${files[k]}" "$scratch/file"
    mutate "$k" "$scratch/file" || { wrong=$((wrong + 1)) && note "not found in ${files[k]}: ${names[k]}"; }
  done
  echo "${#names[@]} mutations, $wrong not found"
  exit $((wrong > 0))
fi
{ # read as a whole, so that the script may be edited while it runs
work=$root/build-mutations copy=$root/build-mutations/source # below the sources, as their build folder is: a compiler cache knows the files
build=$copy/build log=$work/log
find_petsc
mkdir -p "$build"
# what differs, so that nothing else is compiled again
(cd "$root" && git ls-files --cached --others --exclude-standard) | sort >"$work/files"
(cd "$copy" && find . -path ./build -prune -o -type f -printf '%P\n') | sort | comm -13 "$work/files" - | (cd "$copy" && xargs -r rm)
while IFS= read -r f; do
  if ! cmp -s "$root/$f" "$copy/$f"; then mkdir -p "$copy/$(dirname "$f")" && cp "$root/$f" "$copy/$f"; fi
done <"$work/files"
say "Building, and the tests without a mutation"
launcher=$(command -v ccache || true)
env -u PETSC_DIR -u PETSC_ARCH cmake -S "$copy" -B "$build" ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER="$launcher"} >"$log" 2>&1 || { tail "$log" && die "cmake failed"; }
targets() { printf '%s\n' "$1" | sed -E 's/^[0-9]+ //; s/ .*//; s/^/test_/; s|/|_|' | sort -u; }
make_() { cmake --build "$build" -j "$jobs" --target "$@" >"$log" 2>&1; }
# run_test TEST
run_test() {
  local words run=()
  read -ra words <<<"$1"
  if [[ ${words[0]} =~ ^[0-9]+$ ]]; then
    run=("${MPIEXEC:-mpiexec}" -n "${words[0]}")
    words=("${words[@]:1}")
  fi
  timeout -k 5 "${LIMIT:-120}" "${run[@]+"${run[@]}"}" "$build/tests/${words[0]/\//_}" "${words[@]:1}" >"$log" 2>&1 </dev/null
}
all=$(printf '%s\n' "${tests[@]}" | sort -u)
# shellcheck disable=SC2046
make_ $(targets "$all") || { grep -E 'error|warning' "$log" && die "it does not build"; }
wrong=0
while IFS= read -r t; do
  start=$SECONDS
  if run_test "$t"; then note "$((SECONDS - start)) s: $t"; else
    tail -n 5 "$log"
    note "FAILS without a mutation: $t"
    wrong=$((wrong + 1))
  fi
done <<<"$all"

say "Mutations"
rows=$(printf '%-64s | %-38s | %s' mutation 'caught by' result)
echo "$rows"
for k in "${!names[@]}"; do
  file=$copy/${files[k]} by='' result=SURVIVES
  cp "$file" "$work/kept"
  if ! mutate "$k" "$file"; then
    result="NOT FOUND in ${files[k]}"
    # shellcheck disable=SC2046
  elif ! make_ $(targets "${tests[k]}"); then
    result="DOES NOT COMPILE: $(grep -m 1 error "$log" | cut -c1-120)"
  else
    while IFS= read -r t; do
      run_test "$t"
      status=$?
      if [ $status -ne 0 ]; then
        by=$t
        result=caught
        if [ $status -ge 124 ]; then result="caught (status $status)"; fi # a time limit, a signal
        break
      fi
    done <<<"${tests[k]}"
  fi
  cp "$work/kept" "$file"
  case $result in caught*) ;; *) wrong=$((wrong + 1)) ;; esac
  row=$(printf '%-64s | %-38s | %s' "${names[k]}" "$by" "$result")
  echo "$row"
  rows+=$'\n'$row
done
rows+=$'\n'"${#names[@]} mutations, $wrong not caught"
echo "${rows##*$'\n'}"
if [ -n "$table" ]; then printf '%s\n' "$rows" >"$table"; fi
exit $((wrong > 0))
}
