# Installs the library: the archive, its headers, and the files that CMake and pkg-config need.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/pipesim")

install(TARGETS pipesim_archive EXPORT pipesimTargets ARCHIVE COMPONENT development)

# The headers are generated during installation: see install_headers.cmake.
set(installed_headers "${PROJECT_BINARY_DIR}/installed_headers")
install(CODE "set(sources [==[${PROJECT_SOURCE_DIR}]==])\nset(headers [==[${installed_headers}]==])"
        COMPONENT development)
install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake" COMPONENT development)
install(DIRECTORY "${installed_headers}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT development)

install(EXPORT pipesimTargets NAMESPACE pipesim:: DESTINATION "${package_dir}"
        COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/pipesimConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/pipesimConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
# Before 1.0, a new minor version can break compatibility.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pipesimConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pipesimConfig.cmake"
              "${PROJECT_BINARY_DIR}/pipesimConfigVersion.cmake" DESTINATION "${package_dir}"
        COMPONENT development)

# The paths in the file are relative to its folder, so that an installed tree can be moved.
set(pkgconfig_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "${pkgconfig_dir}" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH pc_lib "${pkgconfig_dir}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_include "${pkgconfig_dir}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/pipesim.pc.in" "${PROJECT_BINARY_DIR}/pipesim.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/pipesim.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT development)
