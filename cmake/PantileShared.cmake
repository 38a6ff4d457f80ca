# libpantile.so: all archives of compiler/ and runtime/ in one library that shows nothing but
# pantile's public interface. A process may hold another LLVM beside it (torch, numba, jax), so
# LLVM's symbols must not leave it. Included when all archives are known.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(pantile_archives GLOBAL PROPERTY PANTILE_ARCHIVES)
list(FILTER pantile_archives EXCLUDE REGEX "^pantile_tool_registry$")
set(pantile_objects)
foreach(archive ${pantile_archives})
  list(APPEND pantile_objects $<TARGET_OBJECTS:${archive}>)
endforeach()

add_library(pantile SHARED ${pantile_objects})
add_library(pantile::pantile ALIAS pantile)
# No version in the soname: wheels and the GPU machine carry the library as one plain file.
set_target_properties(pantile PROPERTIES LINKER_LANGUAGE CXX
                                         LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/pantile.map)
target_compile_features(pantile INTERFACE cxx_std_20)
target_include_directories(pantile INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/compiler/include>
                                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(pantile PRIVATE ${PANTILE_MLIR_LIBS} ${PANTILE_LLVM_LIBS} ${CMAKE_DL_LIBS})
# The build id names this build in the cache's keys. Worker threads and the handler of fork() live in the
# library, so closing it must not unload it.
target_link_options(pantile PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,--build-id=sha1 -Wl,-z,nodelete
                                    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/pantile.map)
if(NOT PANTILE_SANITIZE)
  target_link_options(pantile PRIVATE -Wl,-z,defs)
endif()

install(TARGETS pantile EXPORT pantileTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/compiler/include/pantile
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(TARGETS pantilec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cpp)
file(RELATIVE_PATH pantile_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(pantilec PROPERTIES INSTALL_RPATH "$ORIGIN/${pantile_bin_to_lib};$ORIGIN/..")

set(pantile_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pantile)
install(EXPORT pantileTargets NAMESPACE pantile:: DESTINATION ${pantile_package_dir} COMPONENT cpp)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pantileConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/pantileConfig.cmake
                              INSTALL_DESTINATION ${pantile_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pantileConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pantileConfig.cmake ${PROJECT_BINARY_DIR}/pantileConfigVersion.cmake
        DESTINATION ${pantile_package_dir} COMPONENT cpp)

# `cmake --install --prefix` may choose the prefix late, so the paths are relative to where the file lies.
file(RELATIVE_PATH pantile_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/pantile.pc.in ${PROJECT_BINARY_DIR}/pantile.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pantile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT cpp)
