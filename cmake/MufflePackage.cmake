# Debian packages of what is installed: cmake --build build/cpu --target package (docs/how-to/install.md). What one package needs is
# found by dpkg-shlibdeps; programs that no library names are added by hand.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR muffle)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has a first line of its own
set(CPACK_PACKAGE_CONTACT "The muffle engineers <maintainers@muffle.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/PackageDebian.cmake")

set(CPACK_COMPONENTS_ALL muffle muffle-site)
set(CPACK_DEBIAN_MUFFLE_PACKAGE_NAME muffle)
set(CPACK_DEBIAN_MUFFLE_PACKAGE_DEPENDS "openmpi-bin")
set(CPACK_DEBIAN_MUFFLE_PACKAGE_SUGGESTS "dataset-fashion-mnist, slurm-client")
set(CPACK_DEBIAN_MUFFLE_DESCRIPTION "differentially private synthetic data from sharded records
MPI ranks each hold a shard of the records and sum a norm-bounded feature
embedding of it. One coordinator adds Gaussian noise once, and a generator of
synthetic records is made from that one noisy vector. Institutions that share
no cluster make a release by a folder of signed files.")
set(CPACK_DEBIAN_MUFFLE-SITE_PACKAGE_NAME muffle-site)
set(CPACK_DEBIAN_MUFFLE-SITE_PACKAGE_SUGGESTS "muffle")
set(CPACK_DEBIAN_MUFFLE-SITE_DESCRIPTION "one site's part in private synthetic data between institutions
The verbs of muffle that an institution needs to take part in a round with
others: its keys, its policy, its contribution, its key holder's opening, and
the checks of a release. It needs neither MPI nor LibTorch.")
include(CPack)
