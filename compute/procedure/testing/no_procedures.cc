// A shared library without procedures, for library_test.cc.
extern "C" int namdb_no_procedures() {
  return 0;
}
