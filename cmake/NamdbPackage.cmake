# The Debian package: `cpack -G DEB --config BUILD/CPackConfig.cmake`. Programs keep the names of their functions, so that a
# crash leaves a stack with names.
include(GNUInstallDirs)

set(packaging ${CMAKE_SOURCE_DIR}/tools/packaging)
set(units ${CMAKE_SOURCE_DIR}/tools/systemd)

# A template for several daemons on one machine has the text of the unit, with the instance's name in its paths.
foreach(unit nam-memoryd nam-computed)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${units}/${unit}.service)
  file(READ ${units}/${unit}.service text)
  string(REGEX REPLACE "\\.toml" "-%i.toml" text "${text}")
  string(REGEX REPLACE "(Description=[^\n]*)" "\\1 %i" text "${text}")
  string(REGEX REPLACE "((Runtime|State)Directory=[^\n]*)" "\\1-%i" text "${text}")
  string(REPLACE "nam-memoryd.service" "nam-memoryd@%i.service" text "${text}")
  file(WRITE ${CMAKE_BINARY_DIR}/units/${unit}@.service "${text}")
endforeach()

if(NAMDB_SANITIZE)
  return()
endif()
install(TARGETS nam-memoryd nam-computed namctl nambench namsql RUNTIME DESTINATION bin)
install(TARGETS namdb_workloads LIBRARY DESTINATION lib)
install(FILES ${units}/nam-memoryd.service ${units}/nam-computed.service
  ${CMAKE_BINARY_DIR}/units/nam-memoryd@.service ${CMAKE_BINARY_DIR}/units/nam-computed@.service
  DESTINATION lib/systemd/system)
install(FILES ${units}/namdb.sysusers RENAME namdb.conf DESTINATION lib/sysusers.d)
install(FILES ${units}/namdb-verbs.conf ${CMAKE_SOURCE_DIR}/tools/monitoring/alerts.yaml
  ${CMAKE_SOURCE_DIR}/tools/monitoring/dashboard.json DESTINATION share/namdb)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/namdb FILES_MATCHING PATTERN "*.md")
install(FILES ${packaging}/memoryd.toml ${packaging}/computed.toml DESTINATION /etc/namdb
  PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME namdb)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "namdb <namdb@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "network-attached-memory database")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "namdb is an in-memory, transactional database. Its memory servers (nam-memoryd)
hold all data, and its compute servers (nam-computed) run transactions on it with
one-sided operations over shared memory, TCP or RDMA. Clients are those of
PostgreSQL.")
# Beside the libraries that programs are linked with: time zones, drivers of RDMA devices, kill for `systemctl reload`, and the
# maker of the user.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "tzdata, ibverbs-providers, procps, systemd | systemd-standalone-sysusers")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "less, postgresql-client-15")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${CMAKE_BINARY_DIR}/package/conffiles "/etc/namdb/computed.toml\n/etc/namdb/memoryd.toml\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${packaging}/postinst ${packaging}/prerm ${packaging}/postrm
  ${CMAKE_BINARY_DIR}/package/conffiles)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/strip_package.cmake)
include(CPack)
