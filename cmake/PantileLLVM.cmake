# LLVM and MLIR 22 as static archives: PANTILE_LLVM_LIBS and PANTILE_MLIR_LIBS to link.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
# Not HandleLLVMOptions: it would force LLVM's warning and exception flags on every file.
include(TableGen)
include(AddLLVM)
include(AddMLIR)
add_definitions(${LLVM_DEFINITIONS})
llvm_map_components_to_libnames(PANTILE_LLVM_LIBS core support passes nvptxcodegen irreader linker)

# The exported MLIR archives name the LLVM shared library among their needs. Two LLVMs in one
# process crash, so the component archives take its place.
get_property(pantile_all_mlir GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(lib ${pantile_all_mlir})
  if(TARGET ${lib})
    get_target_property(needs ${lib} INTERFACE_LINK_LIBRARIES)
    if(needs)
      list(TRANSFORM needs REPLACE "^LLVM$" "${PANTILE_LLVM_LIBS}")
      set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")
    endif()
  endif()
endforeach()

# Wheels run where libz and libzstd may be missing, so their archives are taken. They are not built for shared
# libraries, but what a version script hides (PantileShared.cmake) may be linked into one all the same.
get_target_property(needs LLVMSupport INTERFACE_LINK_LIBRARIES)
foreach(pair ZLIB::ZLIB=z zstd::libzstd_shared=zstd)
  string(REGEX MATCH "^(.*)=(.*)$" pair ${pair})
  find_library(PANTILE_STATIC_${CMAKE_MATCH_2} lib${CMAKE_MATCH_2}.a)
  if(PANTILE_STATIC_${CMAKE_MATCH_2})
    list(TRANSFORM needs REPLACE "^${CMAKE_MATCH_1}$" "${PANTILE_STATIC_${CMAKE_MATCH_2}}")
  endif()
endforeach()
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")

set(PANTILE_MLIR_LIBS MLIRFuncDialect MLIRArithDialect MLIRSCFDialect MLIRMathDialect MLIRUBDialect
    MLIRTransforms MLIRParser MLIRPass MLIRIR)
