add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off)
option(DEEPINFER_WERROR "Warnings are errors" OFF)
if(DEEPINFER_WERROR)
  add_compile_options(-Werror)
endif()
# What is shipped has no path of the build machine in it; messages name files as src/... does.  Off elsewhere: the flag names
# the folder, so that checkouts in different folders could not share a compiler cache.
option(DEEPINFER_SHIPPED "The build is what people install" OFF)
if(DEEPINFER_SHIPPED)
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()
