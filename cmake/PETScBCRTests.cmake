# Tests. A test program says in comment lines of its own how it is run; without any, once, on one rank:
#
#   ranks: 1 2          numbers of ranks, a run for each
#   labels: slow        labels added to that of its folder (unit, petsc, mpi, verification)
#   args: -n 33         arguments
#   short: yes          also run for the other PETSc variants (scripts/check), label short
#
# Test programs are linked with the library's objects, so that they can call what the library does not export.

if(PETSCBCR_PETSC_CUDA)
  set(PETSCBCR_TEST_ARGS -use_gpu_aware_mpi 0) # an MPI without GPU support stops a CUDA PETSc otherwise
endif()

# what a run needs: MPI as root and with more ranks than cores, in containers too
set(PETSCBCR_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1)

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
  set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" PROCESSORS ${T_RANKS} TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${PETSCBCR_TEST_ENVIRONMENT}")
endfunction()

# one folder of C test programs
function(petscbcr_add_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/${folder}" "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c")
  get_filename_component(label "${folder}" NAME)
  foreach(file ${sources})
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${file}")
    get_filename_component(base "${file}" NAME_WE)
    set(target "test_${label}_${base}")
    add_executable(${target} "${source}" $<TARGET_OBJECTS:petscbcr_objects>)
    target_include_directories(${target} PRIVATE include src .)
    target_compile_options(${target} PRIVATE ${PETSCBCR_WARNINGS})
    target_link_libraries(${target} PRIVATE petscbcr::PETSc m)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" OUTPUT_NAME "${label}_${base}")
    petscbcr_test_property("${source}" ranks 1 ranks)
    petscbcr_test_property("${source}" labels "" labels)
    petscbcr_test_property("${source}" args "" args)
    petscbcr_test_property("${source}" short "" short)
    if(short)
      list(APPEND labels short)
    endif()
    foreach(n ${ranks})
      set(name "${label}-${base}-${n}")
      if(n EQUAL 1)
        add_test(NAME ${name} COMMAND ${target} ${args} ${PETSCBCR_TEST_ARGS})
      elseif(MPIEXEC_EXECUTABLE)
        add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n} $<TARGET_FILE:${target}> ${args} ${PETSCBCR_TEST_ARGS})
      else()
        message(FATAL_ERROR "test ${name} needs mpiexec, which was not found: set MPIEXEC_EXECUTABLE")
      endif()
      petscbcr_set_test_properties(${name} RANKS ${n} LABELS ${label} ${labels} ranks${n})
    endforeach()
  endforeach()
endfunction()
