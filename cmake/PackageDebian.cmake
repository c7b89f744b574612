# What Debian asks of a package's files and an installation in a prefix need not have: compressed manuals and changelog, a copyright file,
# no search path of libraries. Run by CPack on the files that it is about to pack.
file(GLOB roots LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(root IN LISTS roots)
  if(NOT IS_DIRECTORY "${root}/usr")
    continue()
  endif()
  get_filename_component(package "${root}" NAME)
  file(GLOB programs "${root}/usr/bin/muffle" "${root}/usr/bin/muffle-site" "${root}/usr/libexec/muffle/*")
  foreach(program IN LISTS programs)
    file(RPATH_REMOVE FILE "${program}")
  endforeach()
  set(doc "${root}/usr/share/doc/${package}")
  file(REMOVE "${doc}/LICENSE")
  file(WRITE "${doc}/copyright" "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: muffle

Files: *
Copyright: 2026 The muffle engineers
License: Apache-2.0
 On Debian systems the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE "${doc}/changelog.Debian" "muffle (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * What changed is in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 2026 00:00:00 +0000
")
  if(EXISTS "${doc}/CHANGELOG.md")
    file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
  endif()
  file(GLOB_RECURSE pressed "${root}/usr/share/man/*.[1-8]" "${doc}/changelog" "${doc}/changelog.Debian")
  foreach(file IN LISTS pressed)
    execute_process(COMMAND gzip -9n "${file}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
