// A shared library that holds no procedures: what library_test.cc tries to load.
extern "C" int namdb_no_procedures() {
  return 0;
}
