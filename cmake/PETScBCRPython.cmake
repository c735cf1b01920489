# For `pip install .` (pyproject.toml): the PETSc of the Python packages, and the library into the package.

# Without PETSC_DIR: the PETSc that petsc4py was built with, else that of the package petsc. Both are asked for in the environment of the build,
# and, with Python's -I, in the one that the package goes to: where pip isolates a build it hides the latter's packages by PYTHONPATH.
function(petscbcr_petsc_of_python)
  if(PETSC_DIR OR DEFINED ENV{PETSC_DIR})
    return()
  endif()
  find_package(Python REQUIRED COMPONENTS Interpreter)
  set(ask "import %s as p; c = p.get_config() if hasattr(p, 'get_config') else {'PETSC_DIR': p.get_petsc_dir()}; print(c['PETSC_DIR'], c.get('PETSC_ARCH') or '', sep=';')")
  foreach(package petsc4py petsc)
    string(REPLACE "%s" ${package} program "${ask}")
    foreach(isolated "" -I)
      execute_process(COMMAND "${Python_EXECUTABLE}" ${isolated} -c "${program}"
        OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
      if(rc EQUAL 0 AND answer MATCHES "^([^;]+);([^;]*)$" AND IS_DIRECTORY "${CMAKE_MATCH_1}/lib")
        set(PETSC_DIR "${CMAKE_MATCH_1}" PARENT_SCOPE)
        set(PETSC_ARCH "${CMAKE_MATCH_2}" PARENT_SCOPE)
        message(STATUS "PETSc of Python's ${package}: ${CMAKE_MATCH_1} ${CMAKE_MATCH_2}")
        return()
      endif()
    endforeach()
  endforeach()
endfunction()

# A wheel holds no links: the library has one name there
function(petscbcr_install_python)
  set_target_properties(petscbcr PROPERTIES VERSION "" SOVERSION "" NO_SONAME ON)
  install(TARGETS petscbcr LIBRARY DESTINATION petscbcr COMPONENT python)
endfunction()
