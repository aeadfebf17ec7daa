# di_library(name DEPS lib... [LINK target...] SRCS file... [TESTS file...] [TEST_DEPS lib...] [BENCH file...])
#
# One library a folder: src/<folder>/**.  DEPS are the project libraries it may include; they are the one
# list of the architecture's arrows, read by tools/check_layers.py too.  LINK are third-party targets, private.
# TESTS make the binary <name>_test with label `unit`; TEST_DEPS are further libraries that only the tests use.
function(di_library name)
  cmake_parse_arguments(L "" "" "DEPS;LINK;SRCS;TESTS;TEST_DEPS;BENCH" ${ARGN})
  add_library(di_${name} STATIC ${L_SRCS})
  target_include_directories(di_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(d ${L_DEPS})
    target_link_libraries(di_${name} PUBLIC di_${d})
  endforeach()
  target_link_libraries(di_${name} PRIVATE ${L_LINK})
  if(DEEPINFER_TESTS AND L_TESTS)
    add_executable(${name}_test ${L_TESTS})
    target_link_libraries(${name}_test PRIVATE di_${name} GTest::gtest_main GTest::gmock dep::nlohmann ${L_LINK})
    foreach(d ${L_TEST_DEPS})
      target_link_libraries(${name}_test PRIVATE di_${d})
    endforeach()
    target_compile_definitions(${name}_test PRIVATE DI_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES LABELS unit TIMEOUT 120)
  endif()
  if(DEEPINFER_BENCH AND L_BENCH)
    add_executable(${name}_bench ${L_BENCH})
    target_link_libraries(${name}_bench PRIVATE di_${name} benchmark::benchmark_main ${L_LINK})
  endif()
endfunction()

