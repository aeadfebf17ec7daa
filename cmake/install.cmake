# What is installed, in two components:
#   cli      the command, to <prefix>/bin, and the built-in model, to <prefix>/share/deepinfer/models
#   python   the package, to <prefix>/deepinfer, so the prefix is a site-packages folder
# build.sh installs both into .venv; a wheel takes `python` and `wheel_cli`, which puts the command and the model where the
# wheel format wants programs and data.  pip unpacks them to the same places, so the model always lies in
# ../share/deepinfer/models as seen from the command, and in ../../../../share/deepinfer/models as seen from the
# extension module's folder.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # libraries of .deps/ stay where they are

# Everything that gets installed, without tests and benchmarks.
add_custom_target(product)

function(di_install_command target)
  add_dependencies(product ${target})
  install(TARGETS ${target} RUNTIME DESTINATION bin COMPONENT cli)
  if(DEFINED SKBUILD_SCRIPTS_DIR)
    install(PROGRAMS $<TARGET_FILE:${target}> DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT wheel_cli)
  endif()
endfunction()

set(DI_BUILTIN_MODEL "${PROJECT_SOURCE_DIR}/models/DeepSeek-V4.1-Tiny")
install(DIRECTORY "${DI_BUILTIN_MODEL}" DESTINATION share/deepinfer/models COMPONENT cli)
if(DEFINED SKBUILD_DATA_DIR)
  install(DIRECTORY "${DI_BUILTIN_MODEL}" DESTINATION "${SKBUILD_DATA_DIR}/share/deepinfer/models" COMPONENT wheel_cli)
endif()
