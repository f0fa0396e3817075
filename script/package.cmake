# Packages: cd BUILD && cpack -G DEB. hapc plans; haprt-dev is what it builds programs with; haprt
# measures. CMakeLists.txt includes this file.
set(CPACK_PACKAGE_VENDOR "hapc")
set(CPACK_PACKAGE_CONTACT "the authors of hapc <hapc@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL hapc runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_HAPC_PACKAGE_NAME hapc)
set(CPACK_DEBIAN_HAPC_PACKAGE_SECTION science)
set(CPACK_DEBIAN_HAPC_PACKAGE_RECOMMENDS "haprt, haprt-dev")
set(CPACK_COMPONENT_HAPC_DESCRIPTION "plans training programs for clusters of unequal devices")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME haprt)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "measures devices and links for hapc profile")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME haprt-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "gcc | clang, pkg-config | pkgconf, libopenmpi-dev, openmpi-bin, libopenblas-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "headers and libraries that hapc run builds programs with")
include(CPack)
