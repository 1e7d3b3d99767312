# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# InstallFolders: `cmake --install` begins with a list of the folders that it will create, so that
# `uninstall` (Uninstall.cmake) can remove these, and no others, once they are empty.
set(install_folders ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR}/cmake
                    ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_MANDIR}/man1 ${CMAKE_INSTALL_DATADIR}/doc)
foreach(folder IN ITEMS bash-completion/completions zsh/site-functions zsh/vendor-completions fish/vendor_completions.d)
  list(APPEND install_folders ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
set(install_parents .) # the prefix itself
foreach(folder IN LISTS install_folders)
  while(folder MATCHES "/")
    string(REGEX REPLACE "/[^/]*$" "" folder ${folder})
    list(APPEND install_parents ${folder})
  endwhile()
endforeach()
list(APPEND install_folders ${install_parents})
list(REMOVE_DUPLICATES install_folders)
# A second installation adds to the list of the first, as long as that is not uninstalled. Packages are made of single
# components, for which nothing is recorded.
install(CODE "
  set(list \"${PROJECT_BINARY_DIR}/install_folders.txt\")
  if(NOT EXISTS \"${PROJECT_BINARY_DIR}/install_manifest.txt\")
    file(REMOVE \"\${list}\")
  endif()
  foreach(folder IN ITEMS ${install_folders})
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${folder}\")
    if(NOT EXISTS \"\${folder}\")
      cmake_path(ABSOLUTE_PATH folder NORMALIZE)
      file(APPEND \"\${list}\" \"\${folder}\\n\")
    endif()
  endforeach()" COMPONENT folders)
