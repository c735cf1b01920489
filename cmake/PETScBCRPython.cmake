# For `pip install .` (pyproject.toml): the PETSc of the Python packages, and the library into the package.

# Without PETSC_DIR: the PETSc that petsc4py was built with, else that of the package petsc. Both are asked in the environment of the build.
function(petscbcr_petsc_of_python)
  if(PETSC_DIR OR DEFINED ENV{PETSC_DIR})
    return()
  endif()
  find_package(Python REQUIRED COMPONENTS Interpreter)
  foreach(package petsc4py petsc)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c "import ${package} as p; c = p.get_config() if hasattr(p, 'get_config') else {'PETSC_DIR': p.get_petsc_dir()}; print(c['PETSC_DIR'], c.get('PETSC_ARCH') or '', sep=';')"
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
    if(rc EQUAL 0 AND answer MATCHES "^([^;]+);([^;]*)$" AND IS_DIRECTORY "${CMAKE_MATCH_1}/lib")
      set(PETSC_DIR "${CMAKE_MATCH_1}" PARENT_SCOPE)
      set(PETSC_ARCH "${CMAKE_MATCH_2}" PARENT_SCOPE)
      message(STATUS "PETSc of Python's ${package}: ${CMAKE_MATCH_1} ${CMAKE_MATCH_2}")
      return()
    endif()
  endforeach()
endfunction()

# A wheel holds no links: the library has one name there
function(petscbcr_install_python)
  set_target_properties(petscbcr PROPERTIES VERSION "" SOVERSION "" NO_SONAME ON)
  install(TARGETS petscbcr LIBRARY DESTINATION petscbcr COMPONENT python)
endfunction()
