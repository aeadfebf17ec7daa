add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off)
option(DEEPINFER_WERROR "Warnings are errors" OFF)
if(DEEPINFER_WERROR)
  add_compile_options(-Werror)
endif()
# No path of this machine in what is built; messages name files as src/... does.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
