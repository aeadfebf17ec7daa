# What is installed, in two components:
#   cli      the command, to <prefix>/bin
#   python   the package, to <prefix>/deepinfer, so the prefix is a site-packages folder
# build.sh installs both into .venv; a wheel takes `python` and `wheel_cli`, which puts the command where the
# wheel format wants programs.
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
