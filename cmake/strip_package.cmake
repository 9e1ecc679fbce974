# Run by CPack on the files that it packs: debugging information goes, the names of functions stay.
file(GLOB files ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/bin/* ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib/*.so)
foreach(file ${files})
  execute_process(COMMAND strip --strip-debug ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
