# Adds the files that Debian requires in a package. CPack runs this script after staging all files
# and before it makes the packages. If SOURCE_DATE_EPOCH is set, it determines all times, so that
# the same sources give the same bytes.
cmake_policy(VERSION 3.25)

find_program(gzip gzip REQUIRED)
find_program(objcopy NAMES objcopy llvm-objcopy REQUIRED)

function(pipesim_run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(ENV{LC_ALL} C)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP year "%Y" UTC)
set(staging "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  set(usr "${staging}/${component}/usr")
  set(doc "${usr}/share/doc/${package}")
  file(MAKE_DIRECTORY "${doc}")
  file(WRITE "${doc}/copyright"
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pipesim

Files: *
Copyright: ${year}, the authors of pipesim
License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE "${doc}/changelog"
"pipesim (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Made by CPack. What is new is in CHANGELOG.md of the sources.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB man_pages "${usr}/share/man/man1/*.1")
  pipesim_run("${gzip}" -9n "${doc}/changelog" ${man_pages})

  # Permissions independent of the builder's umask. Only usr/bin contains executables.
  file(GLOB_RECURSE files LIST_DIRECTORIES true "${usr}/include/*" "${usr}/lib/*"
       "${usr}/share/*")
  foreach(file IN LISTS files ITEMS "${usr}" "${usr}/bin" "${usr}/include" "${usr}/lib" "${usr}/share")
    if(IS_DIRECTORY "${file}")
      file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
                                       GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    elseif(EXISTS "${file}")
      file(CHMOD "${file}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
endforeach()

# The usual folder for documentation. The pages link to the scenarios, so pages and scenarios stay
# together.
file(CREATE_LINK ../../pipesim/docs "${staging}/program/usr/share/doc/pipesim/docs" SYMBOLIC)
file(CREATE_LINK ../../pipesim/scenarios "${staging}/program/usr/share/doc/pipesim/examples" SYMBOLIC)

# The folder from which Python imports packages.
set(python "${staging}/python/usr")
file(MAKE_DIRECTORY "${python}/lib/python3/dist-packages")
file(CREATE_LINK ../../../share/pipesim/python/pipesim
     "${python}/lib/python3/dist-packages/pipesim" SYMBOLIC)

# CPack strips programs, but not archives.
file(GLOB archives "${staging}/development/usr/lib*/*.a" "${staging}/development/usr/lib/*/*.a")
foreach(archive IN LISTS archives)
  pipesim_run("${objcopy}" --strip-debug --remove-section=.comment --remove-section=.note
              --enable-deterministic-archives "${archive}")
endforeach()
