# Tests. A test program says in comment lines of its own how it is run; without any, once, on one rank:
#
#   ranks: 1 2          numbers of ranks, a run for each
#   labels: spectrum    labels added to that of its folder (unit, petsc, mpi, verification)
#   args: -n 33         arguments
#   turns: 3            argument -turns 3: of the cases that ask TestTurn() (tests/check.h) one in three, others on each number of ranks
#                       (PETSCBCR_TEST_TURNS=t: -turns t for all programs; 1: all cases)
#   long: yes           label long: left out where scripts/check wants a short test, of other PETSc variants; so are runs
#                       on more than 3 ranks
#   quick: 1            numbers of ranks (of those above) whose runs get the label quick: scripts/check quick, scripts/check sanitize
#   quick-args: -n 9    fewer cases: the quick runs are further ones, with these arguments in place of args, "-quick" in their names, and the label
#                       again
#
# makefile.petsc knows these, too, but turns: all cases.
#
# One that tested nothing, as there is no device, ends with 77 and is told as skipped (TestStatus() of tests/check.h).
#
# Test programs are linked with the library's objects, so that they can call what the library does not export.

if(PETSCBCR_PETSC_CUDA)
  set(PETSCBCR_TEST_ARGS -use_gpu_aware_mpi 0) # an MPI without GPU support stops a CUDA PETSc otherwise
endif()

# what a run needs: MPI as root, with more ranks than cores, in containers too; one rank on its own starts no daemon
# (and tests that run side by side get folders of their own, below, since without a daemon they would share one)
set(PETSCBCR_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_ess_singleton_isolated=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1)

# LD_PRELOAD of it makes the CUDA backend run on the host
if(PETSCBCR_EMULATOR)
  if(NOT PETSCBCR_HAVE_CUDA)
    message(FATAL_ERROR "PETSCBCR_EMULATOR=ON needs the CUDA backend (PETSCBCR_CUDA=ON)")
  endif()
  enable_language(CXX)
  file(GLOB _emulator CONFIGURE_DEPENDS tests/emulator/*.cc)
  add_library(bcr_emulator SHARED ${_emulator})
  set_target_properties(bcr_emulator PROPERTIES OUTPUT_NAME bcremulator LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(bcr_emulator PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_options(bcr_emulator PRIVATE ${PETSCBCR_WARNINGS} -O2 -ffp-contract=off)
  target_link_libraries(bcr_emulator PRIVATE ${CMAKE_DL_LIBS})
endif()

function(petscbcr_test_property source key default out)
  file(STRINGS "${source}" line REGEX "^[ /*#!]*${key}:" LIMIT_COUNT 1)
  if(line)
    string(REGEX REPLACE "^[^:]*:[ ]*" "" line "${line}")
    string(REPLACE "*/" "" line "${line}")
    separate_arguments(line UNIX_COMMAND "${line}")
  else()
    set(line ${default})
  endif()
  set(${out} "${line}" PARENT_SCOPE)
endfunction()

function(petscbcr_set_test_properties name)
  cmake_parse_arguments(T "" "RANKS;TIMEOUT" "LABELS" ${ARGN})
  if(NOT T_RANKS)
    set(T_RANKS 1)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" PROCESSORS ${T_RANKS} TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${PETSCBCR_TEST_ENVIRONMENT};OMPI_MCA_orte_tmpdir_base=${CMAKE_BINARY_DIR}/mpi/${name}")
endfunction()

find_program(PETSCBCR_GOLD NAMES ld.gold)
mark_as_advanced(PETSCBCR_GOLD)

# what the tests labelled quick need, and no other test program: cmake --build build --target quick
add_custom_target(quick DEPENDS petscbcr)

# one folder of C test programs
function(petscbcr_add_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/${folder}" "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c")
  get_filename_component(label "${folder}" NAME)
  foreach(file ${sources})
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${file}")
    get_filename_component(base "${file}" NAME_WE)
    set(target "test_${label}_${base}")
    add_executable(${target} "${source}" ${PETSCBCR_OBJECTS})
    target_include_directories(${target} PRIVATE include src .)
    target_compile_options(${target} PRIVATE ${PETSCBCR_WARNINGS} -O1) # quick to compile; the library's objects are as ever
    target_link_libraries(${target} PRIVATE ${PETSCBCR_LIBS})
    if(PETSCBCR_GOLD AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang") # a fifth of the time, a hundred times
      target_link_options(${target} PRIVATE -fuse-ld=gold)
    endif()
    if(PETSCBCR_HAVE_CUDA)
      target_compile_definitions(${target} PRIVATE PETSCBCR_HAVE_CUDA PETSCBCR_CUDA_FIELDS=${PETSCBCR_CUDA_FIELDS})
    endif()
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" OUTPUT_NAME "${label}_${base}")
    petscbcr_test_property("${source}" ranks 1 ranks)
    petscbcr_test_property("${source}" labels "" labels)
    petscbcr_test_property("${source}" args "" args)
    petscbcr_test_property("${source}" turns "" turns)
    if(PETSCBCR_TEST_TURNS)
      set(turns ${PETSCBCR_TEST_TURNS})
    endif()
    if(turns)
      list(PREPEND turns -turns)
    endif()
    petscbcr_test_property("${source}" long "" long)
    if(long)
      list(APPEND labels long)
    endif()
    petscbcr_test_property("${source}" quick "" quick)
    petscbcr_test_property("${source}" quick-args "" quick_args)
    set(runs ${ranks})
    if(quick)
      add_dependencies(quick ${target})
      if(quick_args)
        list(TRANSFORM quick APPEND -quick OUTPUT_VARIABLE quick)
        list(APPEND runs ${quick})
      endif()
    endif()
    foreach(run ${runs})
      set(name "${label}-${base}-${run}")
      string(REPLACE "-quick" "" n "${run}")
      set(run_args ${args} ${turns})
      if(NOT run STREQUAL n)
        set(run_args ${quick_args})
      endif()
      if(n EQUAL 1)
        add_test(NAME ${name} COMMAND ${target} ${run_args} ${PETSCBCR_TEST_ARGS})
      elseif(MPIEXEC_EXECUTABLE)
        add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n} $<TARGET_FILE:${target}> ${run_args} ${PETSCBCR_TEST_ARGS})
      else()
        message(FATAL_ERROR "test ${name} needs mpiexec, which was not found: set MPIEXEC_EXECUTABLE")
      endif()
      set(more ranks${n})
      if(n GREATER 3)
        list(APPEND more long)
      endif()
      if(NOT run STREQUAL n)
        list(APPEND more again)
      endif()
      if(run IN_LIST quick)
        list(APPEND more quick)
      endif()
      petscbcr_set_test_properties(${name} RANKS ${n} LABELS ${label} ${labels} ${more})
    endforeach()
  endforeach()
endfunction()

# Programs compiled and run as a user does, by scripts: PETSc's tutorials, examples/, petsc4py

function(petscbcr_add_script_test name)
  cmake_parse_arguments(T "" "RANKS" "LABELS;COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT T_RANKS)
    set(T_RANKS 1)
  endif()
  add_test(NAME ${name} COMMAND ${T_COMMAND})
  petscbcr_set_test_properties(${name} RANKS ${T_RANKS} LABELS ${T_LABELS} ranks${T_RANKS})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "PKG_CONFIG_PATH=${PETSCBCR_PETSC_PCDIR}:$ENV{PKG_CONFIG_PATH}" ${T_ENVIRONMENT})
endfunction()

# the interpreter whose petsc4py is built on this PETSc
function(petscbcr_find_petsc4py out)
  set(${out} "" PARENT_SCOPE)
  set(kind float)
  if(PETSCBCR_PETSC_COMPLEX)
    set(kind complex)
  endif()
  set(bits 32)
  if(PETSCBCR_PETSC_INT64)
    set(bits 64)
  endif()
  foreach(python python3 /usr/bin/python3)
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env PETSC_DIR=${PETSCBCR_PETSC_PREFIX} PETSC_ARCH= ${PETSCBCR_TEST_ENVIRONMENT} ${python} -c
              "import petsc4py; petsc4py.init(['-']); from petsc4py import PETSc; print('.'.join(map(str, PETSc.Sys.getVersion())), PETSc.ScalarType.__name__.rstrip('0123456789'), 8 * PETSc.IntType().itemsize)"
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
    string(REGEX REPLACE ".*\n" "" answer "${answer}") # some MPIs write warnings to stdout
    if(rc EQUAL 0 AND answer STREQUAL "${PETSCBCR_PETSC_VERSION} ${kind} ${bits}")
      set(${out} "${python}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(petscbcr_add_program_tests)
  set(plugin "${CMAKE_BINARY_DIR}/libpetscbcr.so")
  set(fortran)
  if(PETSCBCR_PETSC_MPIF90)
    find_program(PETSCBCR_FORTRAN NAMES ${PETSCBCR_PETSC_MPIF90})
    execute_process(COMMAND "${PETSCBCR_FORTRAN}" --version RESULT_VARIABLE rc OUTPUT_QUIET ERROR_QUIET)
    if(PETSCBCR_FORTRAN AND rc EQUAL 0)
      set(fortran TRUE)
    endif()
  endif()
  petscbcr_find_petsc4py(python)
  if(NOT fortran)
    message(STATUS "No tests of Fortran programs: no Fortran compiler for this PETSc")
  endif()
  if(NOT python)
    message(STATUS "No tests of Python programs: no petsc4py of this PETSc")
  endif()

  set(cases ex29 ex29-neumann ex45 ex32 snes-ex5 snes-ex35)
  set(parallel ex29:4 ex29-neumann:3 ex45:4 ex32:2 snes-ex5:4 snes-ex35:3) # those cut along several axes, and along one
  if(NOT PETSCBCR_PETSC_COMPLEX AND NOT PETSCBCR_PETSC_SINGLE)
    list(APPEND cases ex50 snes-ex9 snes-ex9-rs) # real and double only, as their own headers say
    list(APPEND parallel ex50:4 snes-ex9:3 snes-ex9-rs:3)
  endif()
  if(fortran)
    list(APPEND cases ex45f)
  endif()
  foreach(case ${cases})
    petscbcr_add_script_test(tutorial-${case} LABELS tutorial COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/run_tutorials.sh" ${case} "${plugin}" "${CMAKE_BINARY_DIR}/tutorials")
  endforeach()
  foreach(case ${parallel})
    string(REPLACE ":" ";" case ${case})
    list(GET case 1 n)
    list(GET case 0 case)
    petscbcr_add_script_test(tutorial-${case}-${n} RANKS ${n} LABELS tutorial ENVIRONMENT MPIEXEC=${MPIEXEC_EXECUTABLE}
      COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/run_tutorials.sh" ${case} "${plugin}" "${CMAKE_BINARY_DIR}/tutorials" ${n})
  endforeach()

  # those without a DMDA, on one rank and on three; ex1 is for one
  foreach(case ex1 ex2 ex3 ex5 ex7 ex8 ex9 ex11 ex12 ex13 ex15 ex16 ex23 ex52 ex54)
    set(labels tutorial)
    if(NOT case MATCHES "^ex(2|9|11|54)$")
      list(APPEND labels long)
    endif()
    foreach(n 1 3)
      if(NOT (case STREQUAL ex1 AND n EQUAL 3))
        petscbcr_add_script_test(nodm-${case}-${n} RANKS ${n} LABELS ${labels} ENVIRONMENT MPIEXEC=${MPIEXEC_EXECUTABLE}
          COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/run_nodm.sh" ${case} "${plugin}" "${CMAKE_BINARY_DIR}/nodm" ${n})
      endif()
    endforeach()
  endforeach()

  if(fortran)
    foreach(columns "" -columns)
      petscbcr_add_script_test(fortran-blocks${columns}-4 RANKS 4 LABELS tutorial ENVIRONMENT "RUN=${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4"
        COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/run_example.sh" "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/blocks.F90" "${CMAKE_BINARY_DIR}" "${CMAKE_BINARY_DIR}/fortran${columns}"
                -dll_append "${plugin}" -pc_type bcrpoisson ${columns})
    endforeach()
  endif()

  if(python)
    petscbcr_add_script_test(petsc4py LABELS python ENVIRONMENT PETSC_DIR=${PETSCBCR_PETSC_PREFIX} PETSC_ARCH=
      COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/petsc4py_poisson.py" -dll_append "${plugin}" -pc_type bcrpoisson)
    petscbcr_add_script_test(petsc4py-vectors LABELS python ENVIRONMENT PETSC_DIR=${PETSCBCR_PETSC_PREFIX} PETSC_ARCH=
      COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/petsc4py_vectors.py" -dll_append "${plugin}" -pc_type bcrpoisson)
    petscbcr_add_script_test(petsc4py-vectors-4 RANKS 4 LABELS python ENVIRONMENT PETSC_DIR=${PETSCBCR_PETSC_PREFIX} PETSC_ARCH=
      COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 ${python} "${CMAKE_CURRENT_SOURCE_DIR}/tests/petsc/petsc4py_vectors.py" -dll_append "${plugin}" -pc_type bcrpoisson)
  endif()

  # the Python package on the library of this build; tests/python/venv.sh installs it first
  set(package "${python}" "${CMAKE_CURRENT_SOURCE_DIR}/tests/python/package.py")
  if(NOT python)
    set(package bash -c "echo 'skipped: no petsc4py of this PETSc'; exit 77")
  endif()
  foreach(n 1 2)
    set(run)
    if(n GREATER 1)
      set(run ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n})
    endif()
    petscbcr_add_script_test(python-package-${n} RANKS ${n} LABELS python COMMAND ${run} ${package}
      ENVIRONMENT PETSC_DIR=${PETSCBCR_PETSC_PREFIX} PETSC_ARCH= PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/packaging/python PETSCBCR_LIBRARY=${plugin})
  endforeach()
  # and on the one that PETSc has loaded
  petscbcr_add_script_test(python-package-loaded LABELS python COMMAND ${package} -dll_append "${plugin}"
    ENVIRONMENT PETSC_DIR=${PETSCBCR_PETSC_PREFIX} PETSC_ARCH= PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/packaging/python PETSCBCR_LIBRARY=/nowhere.so)

  if(PETSCBCR_HAVE_CUDA)
    petscbcr_add_script_test(cuda-architectures LABELS long COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/cuda_architectures.sh" "${CMAKE_CUDA_COMPILER}" "${CMAKE_BINARY_DIR}/architectures" 80 90 100)
    set_tests_properties(cuda-architectures PROPERTIES TIMEOUT 3600)
    foreach(name capacitance obstacle) # skipped where there is no device
      foreach(n 1 2)
        add_test(NAME device-${name}-${n} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n} $<TARGET_FILE:test_mpi_${name}> -backend cuda -use_gpu_aware_mpi 0)
        petscbcr_set_test_properties(device-${name}-${n} RANKS ${n} LABELS cuda ranks${n})
      endforeach()
    endforeach()
    add_test(NAME device-moves COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 $<TARGET_FILE:test_mpi_moves> -backend cuda -few 2 -use_gpu_aware_mpi 0)
    petscbcr_set_test_properties(device-moves RANKS 4 LABELS cuda)
    add_test(NAME device-mixed COMMAND $<TARGET_FILE:test_mpi_mixed> -backend cuda -use_gpu_aware_mpi 0)
    petscbcr_set_test_properties(device-mixed LABELS cuda ranks1)
    if(TARGET bcr_emulator) # the CUDA backend without a GPU: kernels from their PTX
      set(emulated "LD_PRELOAD=$<TARGET_FILE:bcr_emulator>")
      add_test(NAME emulated-core COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_core> -backend cuda -cases 15 -use_gpu_aware_mpi 0)
      add_test(NAME emulated-split COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_core> -backend cuda -first 22 -step 128 -cases 129 -use_gpu_aware_mpi 0)
      add_test(NAME emulated-spectral COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_core> -backend cuda -spectral -cases 6 -use_gpu_aware_mpi 0)
      # singular, node-centred Neumann ends along rows: the constant that is removed
      add_test(NAME emulated-removed COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_core> -backend cuda -spectral -first 2 -step 128 -cases 131 -use_gpu_aware_mpi 0)
      add_test(NAME emulated-solver COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_solver> -backend cuda -cases 20 -quick -use_gpu_aware_mpi 0)
      add_test(NAME emulated-lines COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_tridevice> -sanitizer -use_gpu_aware_mpi 0)
      add_test(NAME emulated-windows COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_unit_windows> -quick -use_gpu_aware_mpi 0)
      foreach(name core split spectral removed solver lines windows)
        petscbcr_set_test_properties(emulated-${name} LABELS cuda ranks1)
      endforeach()
      # four ranks share the emulated device; case 17 is singular, in two solves whose shift is rounding alone
      add_test(NAME emulated-slab COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_slab> -backend cuda -transport host -cases 18 -quick -use_gpu_aware_mpi 0)
      petscbcr_set_test_properties(emulated-slab RANKS 4 LABELS cuda)
      add_test(NAME emulated-mixed COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_mixed> -backend cuda -use_gpu_aware_mpi 0)
      petscbcr_set_test_properties(emulated-mixed LABELS cuda ranks1)
      add_test(NAME emulated-separable COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_separable> -backend cuda -cases 20,12,6 -use_gpu_aware_mpi 0)
      petscbcr_set_test_properties(emulated-separable LABELS cuda ranks1)
      add_test(NAME emulated-product COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_product> -backend cuda -quick -use_gpu_aware_mpi 0)
      add_test(NAME emulated-waves COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_waves> -backend cuda -count 60 -quick -use_gpu_aware_mpi 0)
      add_test(NAME emulated-uncoupled COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_uncoupled> -backend cuda -count 24 -use_gpu_aware_mpi 0)
      foreach(name product waves uncoupled)
        petscbcr_set_test_properties(emulated-${name} LABELS cuda ranks1)
      endforeach()
      add_test(NAME emulated-separable-2 COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_separable> -backend cuda -pc_bcrpoisson_transport host -cases 10,6 -use_gpu_aware_mpi 0)
      petscbcr_set_test_properties(emulated-separable-2 RANKS 2 LABELS cuda ranks2)
      add_test(NAME emulated-capacitance COMMAND ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_capacitance> -backend cuda -cases 18 -use_gpu_aware_mpi 0)
      petscbcr_set_test_properties(emulated-capacitance LABELS cuda ranks1)
      add_test(NAME emulated-capacitance-2 COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_capacitance> -backend cuda -transport host -cases 8 -use_gpu_aware_mpi 0)
      petscbcr_set_test_properties(emulated-capacitance-2 RANKS 2 LABELS cuda ranks2)
      foreach(way auto host mpi) # slabs that others map; pinned memory; MPI on what the emulator's devices have
        set(aware 0)
        if(way STREQUAL mpi)
          set(aware 1)
        endif()
        add_test(NAME emulated-moves-${way} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4 ${CMAKE_COMMAND} -E env ${emulated} $<TARGET_FILE:test_mpi_moves> -backend cuda -few 1 -transport ${way} -use_gpu_aware_mpi ${aware})
        petscbcr_set_test_properties(emulated-moves-${way} RANKS 4 LABELS cuda)
      endforeach()
    endif()
    # what of it every check has time for
    petscbcr_add_script_test(cuda-architectures-syntax RANKS 2 LABELS cuda ENVIRONMENT SYNTAX=yes COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/cuda_architectures.sh" "${CMAKE_CUDA_COMPILER}" "${CMAKE_BINARY_DIR}/architectures-syntax" 80)
  endif()

  petscbcr_add_script_test(scripts-packages LABELS scripts COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/scripts/packages.sh")
  petscbcr_add_script_test(scripts-mismatch LABELS scripts COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/scripts/mismatch.sh" "${CMAKE_BINARY_DIR}/mismatch")
  petscbcr_add_script_test(scripts-release LABELS scripts COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/scripts/release.sh" "${plugin}")
  petscbcr_add_script_test(man-pages LABELS scripts COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/scripts/manpages.sh")
  petscbcr_add_script_test(docs-pages LABELS scripts COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/docs/site/pages.py" "${CMAKE_BINARY_DIR}/docs-source")
  petscbcr_add_script_test(plots LABELS scripts COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/tests/scripts/plots.py" "${CMAKE_BINARY_DIR}/plots")

  file(GLOB examples CONFIGURE_DEPENDS examples/*.c examples/*.F90 examples/*.py)
  foreach(example ${examples})
    get_filename_component(base "${example}" NAME)
    if((base MATCHES "[.]F90$" AND NOT fortran) OR (base MATCHES "[.]py$" AND NOT python))
      continue()
    endif()
    petscbcr_test_property("${example}" scalars any scalars)
    if(scalars STREQUAL complex AND NOT PETSCBCR_PETSC_COMPLEX)
      continue()
    endif()
    petscbcr_test_property("${example}" ranks 1 ranks)
    foreach(n ${ranks})
      set(name example-${base})
      set(run)
      if(n GREATER 1)
        string(APPEND name -${n})
        set(run "RUN=${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n}")
      endif()
      petscbcr_add_script_test(${name} LABELS example RANKS ${n} ENVIRONMENT PYTHON=${python} "${run}"
        COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/tests/run_example.sh" "${example}" "${CMAKE_BINARY_DIR}" "${CMAKE_BINARY_DIR}/examples/${n}")
    endforeach()
  endforeach()
endfunction()
