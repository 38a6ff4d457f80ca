# pantile_library(NAME SOURCES ... NEEDS ... [PLAIN]): one folder of the compiler as a static archive.
# PLAIN: the folder includes no MLIR header, so it takes no precompiled header either.
function(pantile_library name)
  cmake_parse_arguments(ARG "PLAIN" "" "SOURCES;NEEDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  set_property(GLOBAL APPEND PROPERTY PANTILE_ARCHIVES ${name})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/compiler ${CMAKE_SOURCE_DIR}/compiler/include
                                            ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/compiler)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden
                                         -fvisibility-inlines-hidden -ffunction-sections -fdata-sections)
  target_compile_definitions(${name} PUBLIC FMT_HEADER_ONLY)
  target_link_libraries(${name} PUBLIC ${ARG_NEEDS})
  if(PANTILE_PCH AND NOT ARG_PLAIN)
    target_precompile_headers(${name} REUSE_FROM pantile_pch)
    add_dependencies(${name} pantile_pch)
  endif()
  # What a file spends on headers and their templates, even if precompiled, its neighbours share.
  if(PANTILE_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

if(PANTILE_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  add_library(pantile_pch STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
  target_include_directories(pantile_pch PRIVATE ${CMAKE_SOURCE_DIR}/compiler ${CMAKE_SOURCE_DIR}/compiler/include
                                                 ${CMAKE_BINARY_DIR}/compiler)
  target_include_directories(pantile_pch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(pantile_pch PRIVATE -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden
                                             -fvisibility-inlines-hidden -ffunction-sections -fdata-sections)
  target_compile_definitions(pantile_pch PUBLIC FMT_HEADER_ONLY)
  target_precompile_headers(pantile_pch PRIVATE
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/PatternMatch.h>
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/SCF/IR/SCF.h> <mlir/Pass/Pass.h> <llvm/ADT/TypeSwitch.h>
    <ir/Tile.h>)
endif()
