/* LLVM's static objects live as long as the process. The linker sends the registration of their destructors here
 * (--wrap, in meson.build), and it goes no further: otherwise exit() on one thread would destroy what others are
 * compiling with, in particular what LLVM makes on first use and registers after any handler of ours. */

int __wrap___cxa_atexit(void (*destroy)(void *), void *object, void *library);

int __wrap___cxa_atexit(void (*destroy)(void *), void *object, void *library) {
  (void)destroy;
  (void)object;
  (void)library;
  return 0;
}
