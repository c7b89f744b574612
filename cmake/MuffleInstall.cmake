# What `cmake --install build/cpu --prefix DIR` puts into a prefix, which may be moved afterwards: nothing in it holds its name
# (docs/how-to/install.md). Where there is no muffle (preset site), muffle-site alone.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME muffle)
set(shared "${CMAKE_INSTALL_DATAROOTDIR}/muffle")
# Whatever the checkout's files, and whoever's umask, say.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# Libraries of one's own stay where they are; those in the prefix are found from wherever it lies.
set(programs muffle-site)
if(TARGET muffle)
  list(APPEND programs muffle)
  set_target_properties(muffle-torch PROPERTIES INSTALL_RPATH "$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS muffle-torch RUNTIME DESTINATION libexec/muffle)  # where program_light.cpp looks for it
endif()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
foreach(program IN LISTS programs)
  install(TARGETS ${program} RUNTIME COMPONENT ${program})
endforeach()
# Of a package of that program alone: all pages, since each names others, and the configurations that they name.
set(of_site DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/muffle-site" COMPONENT muffle-site EXCLUDE_FROM_ALL)
install(FILES README.md CHANGELOG.md ${of_site})
install(DIRECTORY docs configs ${of_site})

if(TARGET muffle)
# The launchers as commands.
set(commands "${PROJECT_BINARY_DIR}/installed")
file(MAKE_DIRECTORY "${commands}/bash" "${commands}/fish")
foreach(launcher local mpirun)
  file(CONFIGURE OUTPUT "${commands}/muffle-${launcher}" @ONLY CONTENT
"#!/bin/sh
# @launcher@.sh of the prefix that this file lies in, wherever that is now.
exec \"$(dirname \"$(realpath \"$0\")\")/../@shared@/launch/@launcher@.sh\" \"$@\"
")
  install(PROGRAMS "${commands}/muffle-${launcher}" TYPE BIN)
endforeach()
install(PROGRAMS launch/local.sh launch/mpirun.sh DESTINATION "${shared}/launch")
install(FILES launch/export_network.py launch/train_encoder.py DESTINATION "${shared}/launch") # for python3, which the package does not ask for
install(FILES launch/local-flags.sh launch/supervise.sh DESTINATION "${shared}/launch")
install(DIRECTORY cluster configs DESTINATION "${shared}"
  REGEX "\\.(sh|sbatch)$" PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
# Links of the documentation to configurations lead somewhere.
file(RELATIVE_PATH configs "/${CMAKE_INSTALL_DOCDIR}" "/${shared}/configs")
file(CREATE_LINK "${configs}" "${commands}/configs" SYMBOLIC)
install(FILES "${commands}/configs" TYPE DOC)
else()
install(DIRECTORY configs TYPE DOC)
endif()
install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY docs TYPE DOC)

# Man pages and completions, from the programs themselves; where there are both, pages of verbs are muffle's. Sanitizers would slow that down.
if(NOT MUFFLE_SANITIZE)
  set(manual "${PROJECT_BINARY_DIR}/manual")
  set(write COMMAND "${CMAKE_COMMAND}" -E make_directory "${manual}")
  foreach(program IN LISTS programs)
    set(zsh _muffle)
    if(program STREQUAL muffle-site)
      set(zsh _party_muffle)
    endif()
    list(APPEND write COMMAND ${program} man --out "${manual}/man"
      COMMAND ${program} completion bash > "${manual}/${program}"
      COMMAND ${program} completion zsh > "${manual}/${zsh}"
      COMMAND ${program} completion fish > "${manual}/${program}.fish")
    install(FILES "${manual}/${program}" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions" COMPONENT ${program})
    install(FILES "${manual}/${zsh}" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions" COMPONENT ${program})
    install(FILES "${manual}/${program}.fish" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d" COMPONENT ${program})
  endforeach()
  add_custom_command(OUTPUT "${manual}/written" ${write} COMMAND "${CMAKE_COMMAND}" -E touch "${manual}/written"
    DEPENDS ${programs} COMMENT "Writing man pages and completions" VERBATIM)
  add_custom_target(muffle_manual ALL DEPENDS "${manual}/written")
  if(TARGET muffle)
    foreach(launcher local mpirun)  # shells look for a command's completion in a file of its name
      file(CREATE_LINK muffle "${commands}/bash/muffle-${launcher}" SYMBOLIC)
      file(CREATE_LINK muffle.fish "${commands}/fish/muffle-${launcher}.fish" SYMBOLIC)
      install(FILES "${commands}/bash/muffle-${launcher}" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions")
      install(FILES "${commands}/fish/muffle-${launcher}.fish" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d")
    endforeach()
  endif()
  install(DIRECTORY "${manual}/man/" TYPE MAN PATTERN muffle-site.8 EXCLUDE)
  install(FILES "${manual}/man/man8/muffle-site.8" DESTINATION "${CMAKE_INSTALL_MANDIR}/man8" COMPONENT muffle-site)
endif()

# Removes what the last installation put down: cmake --build build/cpu --target uninstall
if(NOT TARGET uninstall)
  add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -D "MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt"
    -P "${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake")
endif()
