# What `cmake --install build/cpu --prefix DIR` puts into a prefix, which may be moved afterwards: nothing in it holds its name
# (docs/how-to/install.md). Included where there is a muffle: it needs LibTorch and MPI.
include(GNUInstallDirs)
set(shared "${CMAKE_INSTALL_DATAROOTDIR}/muffle")

# Libraries of one's own stay where they are; those in the prefix are found from wherever it lies.
set_target_properties(muffle PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS muffle RUNTIME)

# The launchers as commands.
set(commands "${PROJECT_BINARY_DIR}/installed")
foreach(launcher local mpirun)
  file(CONFIGURE OUTPUT "${commands}/muffle-${launcher}" @ONLY CONTENT
"#!/bin/sh
# @launcher@.sh of the prefix that this file lies in, wherever that is now.
exec \"$(dirname \"$(realpath \"$0\")\")/../@shared@/launch/@launcher@.sh\" \"$@\"
")
  install(PROGRAMS "${commands}/muffle-${launcher}" TYPE BIN)
endforeach()
install(PROGRAMS launch/local.sh launch/mpirun.sh launch/export_network.py DESTINATION "${shared}/launch")
install(FILES launch/local-flags.sh launch/supervise.sh DESTINATION "${shared}/launch")
install(DIRECTORY cluster configs DESTINATION "${shared}" USE_SOURCE_PERMISSIONS)
install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY docs TYPE DOC)

# Man pages and completions, from the program itself. Sanitizers would slow that down.
if(NOT MUFFLE_SANITIZE)
  set(manual "${PROJECT_BINARY_DIR}/manual")
  add_custom_command(OUTPUT "${manual}/written"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${manual}"
    COMMAND muffle man --out "${manual}/man"
    COMMAND muffle completion bash > "${manual}/muffle"
    COMMAND muffle completion zsh > "${manual}/_muffle"
    COMMAND muffle completion fish > "${manual}/muffle.fish"
    COMMAND "${CMAKE_COMMAND}" -E touch "${manual}/written"
    DEPENDS muffle COMMENT "Writing man pages and completions" VERBATIM)
  add_custom_target(muffle_manual ALL DEPENDS "${manual}/written")
  install(DIRECTORY "${manual}/man/" TYPE MAN)
  install(FILES "${manual}/muffle" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions")
  install(FILES "${manual}/_muffle" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions")
  install(FILES "${manual}/muffle.fish" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d")
endif()

# Removes what the last installation put down: cmake --build build/cpu --target uninstall
if(NOT TARGET uninstall)
  add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -D "MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt"
    -P "${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake")
endif()
