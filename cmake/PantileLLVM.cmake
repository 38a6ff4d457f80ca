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
set(PANTILE_MLIR_LIBS MLIRFuncDialect MLIRArithDialect MLIRSCFDialect MLIRMathDialect MLIRUBDialect
    MLIRTransforms MLIRParser MLIRPass MLIRIR)
