# The interpreter for the tests, and with DEEPINFER_PYTHON for the bindings: the one of .venv where build.sh has
# made it, else whatever the system has.  -DPython_EXECUTABLE=... names another one.
if(NOT Python_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()
if(DEEPINFER_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
else()
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
endif()
