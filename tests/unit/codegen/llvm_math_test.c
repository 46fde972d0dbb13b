/* Lowerings of functions of floats against right values (tests/support/references.h): errors in units in the last
 * place, special values, agreement in bits of the scalar and the 16-lane form, and code that needs nothing from
 * outside.
 *
 * Every function becomes four kernels `void f(T *out, const T *x, const T *y, int64_t n)` (f32 and f64, scalar and
 * lanes) of one object file, which is loaded through ORC. f32 is compared with libm in f64, f64 with libm in long
 * double.
 */
#include "codegen/llvm/lowerings.h"
#include "tests/support/random.h"
#include "tests/support/references.h"
#include "tests/support/suite.h"
#include "tests/support/values.h"

#include <check.h>
#include <elf.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))
#ifndef SAMPLES_F32
#define SAMPLES_F32 (3 << 19)
#endif
#ifndef SAMPLES_F64
#define SAMPLES_F64 (1 << 18)
#endif
#define BLOCK 4096
#define SEED UINT64_C(0x9e3779b97f4a7c15)

/* The one dtype that a number of a kernel stands for. */
static laze_dtype dtype_of(int f64) {
  return f64 ? LAZE_F64 : LAZE_F32;
}

static const char *name_of(int function) {
  return laze_op_get(test_references[function].op)->symbol;
}

static const double special[] = {0.0,
                                 0x1p-149,
                                 0x1p-140,
                                 0x1.fffffcp-127,
                                 0x1p-126,
                                 0x1p-1074,
                                 0x1p-1030,
                                 0x1.fffffffffffffp-1023,
                                 0x1p-1022,
                                 0x1p-60,
                                 0x1p-30,
                                 0x1p-12,
                                 0.125,
                                 0.3465735,
                                 0.5,
                                 0.625,
                                 0.70710678,
                                 0.75,
                                 0x1.fffffep-1,
                                 0x1.fffffffffffffp-1,
                                 1.0,
                                 0x1.000002p0,
                                 0x1.0000000000001p0,
                                 1.41421356,
                                 1.5,
                                 0x1.921fb6p+0,
                                 0x1.921fb54442d18p+0,
                                 2.0,
                                 2.5,
                                 2.71828182845904523,
                                 3.0,
                                 0x1.921fb54442d18p+1,
                                 3.5,
                                 4.0,
                                 5.0,
                                 6.0,
                                 7.0,
                                 8.5,
                                 9.0,
                                 10.0,
                                 16.0,
                                 19.0,
                                 22.0,
                                 40.0,
                                 64.0,
                                 88.0,
                                 88.72283,
                                 88.7228394,
                                 89.0,
                                 89.415985,
                                 89.5,
                                 100.0,
                                 103.97,
                                 104.0,
                                 127.0,
                                 128.0,
                                 149.0,
                                 150.0,
                                 151.0,
                                 700.0,
                                 709.0,
                                 709.78271289338397,
                                 709.78271289338409,
                                 710.0,
                                 710.4758600739439,
                                 711.0,
                                 745.13321910194122,
                                 745.2,
                                 746.0,
                                 1000.0,
                                 1023.0,
                                 1024.0,
                                 1074.0,
                                 1075.0,
                                 0x1p17,
                                 131072.5,
                                 8388607.5,
                                 0x1p23,
                                 16777215.0,
                                 0x1p24,
                                 16777217.0,
                                 0x1p30,
                                 0x1.0000001p30,
                                 0x1p31,
                                 0x1p52,
                                 4503599627370497.5,
                                 0x1p53,
                                 0x1.fffffffffffffp53,
                                 0x1p60,
                                 0x1p63,
                                 0x1p64,
                                 0x1p100,
                                 0x1.47d0fep+34,
                                 0x1.6ac5b262ca1ffp+849,
                                 0x1p127,
                                 0x1.fffffep127,
                                 0x1p1000,
                                 0x1.fffffffffffffp1023,
                                 INFINITY,
                                 NAN};
#define SPECIALS (2 * COUNT(special))

static double special_value(int i) {
  return i < COUNT(special) ? special[i] : -special[i - COUNT(special)];
}

/* --- one object with every kernel --- */

typedef void (*kernel)(void *out, const void *x, const void *y, int64_t n);

static LLVMOrcLLJITRef jit;
static kernel (*kernels)[2][2]; /* by function; f32 or f64, scalar or lanes */

static void kernel_name(char *name, size_t size, int function, int f64, int lanes) {
  snprintf(name, size, "%s_%s_%s", name_of(function), f64 ? "f64" : "f32", lanes ? "lanes" : "scalar");
}

static void emit_kernel(LLVMModuleRef module, LLVMContextRef context, int function, int f64, int lanes) {
  char name[64];
  kernel_name(name, sizeof name, function, f64, lanes);
  laze_llvm_emitter e = {context, module, LLVMCreateBuilderInContext(context), false};
  LLVMTypeRef element = laze_llvm_scalar_type(&e, dtype_of(f64));
  LLVMTypeRef type = lanes ? LLVMVectorType(element, LAZE_LANES) : element;
  LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0), word = LLVMInt64TypeInContext(context);
  LLVMTypeRef parameters[4] = {pointer, pointer, pointer, word};
  LLVMTypeRef signature = LLVMFunctionType(LLVMVoidTypeInContext(context), parameters, 4, false);
  LLVMValueRef f = LLVMAddFunction(module, name, signature);
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, f, "entry");
  LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(context, f, "loop");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(context, f, "done");
  LLVMPositionBuilderAtEnd(e.builder, entry);
  LLVMBuildBr(e.builder, loop);
  LLVMPositionBuilderAtEnd(e.builder, loop);
  LLVMValueRef i = LLVMBuildPhi(e.builder, word, "i");
  LLVMValueRef operands[2], address;
  for (int k = 0; k < 2; k++) {
    address = LLVMBuildInBoundsGEP2(e.builder, element, LLVMGetParam(f, (unsigned)k + 1), &i, 1, "");
    operands[k] = LLVMBuildLoad2(e.builder, type, address, "");
    LLVMSetAlignment(operands[k], f64 ? 8 : 4);
  }
  LLVMValueRef y = laze_lowerings[test_references[function].op](&e, dtype_of(f64), operands);
  address = LLVMBuildInBoundsGEP2(e.builder, element, LLVMGetParam(f, 0), &i, 1, "");
  LLVMSetAlignment(LLVMBuildStore(e.builder, y, address), f64 ? 8 : 4);
  LLVMValueRef next = LLVMBuildAdd(e.builder, i, LLVMConstInt(word, lanes ? LAZE_LANES : 1, false), "");
  LLVMValueRef more = LLVMBuildICmp(e.builder, LLVMIntSLT, next, LLVMGetParam(f, 3), "");
  LLVMAddIncoming(i, (LLVMValueRef[]){LLVMConstInt(word, 0, false), next},
                  (LLVMBasicBlockRef[]){entry, LLVMGetInsertBlock(e.builder)}, 2);
  LLVMBuildCondBr(e.builder, more, loop, done);
  LLVMPositionBuilderAtEnd(e.builder, done);
  LLVMBuildRetVoid(e.builder);
  LLVMDisposeBuilder(e.builder);
}

static LLVMMemoryBufferRef emit_object(LLVMModuleRef module) {
  char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
  LLVMTargetRef target;
  char *message = NULL;
  ck_assert_msg(!LLVMGetTargetFromTriple(triple, &target, &message), "%s", message);
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(module, layout);
  LLVMSetTarget(module, triple);
  LLVMMemoryBufferRef object;
  ck_assert_msg(!LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object), "%s",
                message);
  LLVMDisposeTargetData(layout);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  return object;
}

/* The loader that runs these objects in production knows only relocations relative to the instruction, and no symbol
 * from outside: a function that fell back to libm would show here. */
static void check_self_contained(const char *object) {
  Elf64_Ehdr header;
  memcpy(&header, object, sizeof header);
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(object + header.e_shoff);
  for (int s = 0; s < header.e_shnum; s++) {
    if (sections[s].sh_type == SHT_SYMTAB) {
      const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(object + sections[s].sh_offset);
      const char *names = object + sections[sections[s].sh_link].sh_offset;
      for (size_t i = 1; i < sections[s].sh_size / sizeof *symbols; i++) {
        ck_assert_msg(symbols[i].st_shndx != SHN_UNDEF, "undefined symbol %s", names + symbols[i].st_name);
      }
    }
    if (sections[s].sh_type == SHT_RELA && header.e_machine == EM_X86_64 &&
        sections[sections[s].sh_info].sh_flags & SHF_EXECINSTR) {
      const Elf64_Rela *entries = (const Elf64_Rela *)(const void *)(object + sections[s].sh_offset);
      for (size_t i = 0; i < sections[s].sh_size / sizeof *entries; i++) {
        uint64_t type = ELF64_R_TYPE(entries[i].r_info);
        ck_assert_msg(type == R_X86_64_PC32 || type == R_X86_64_PLT32, "relocation of type %d", (int)type);
      }
    }
  }
}

static void check_llvm(LLVMErrorRef error) {
  if (!error) return;
  char *message = LLVMGetErrorMessage(error);
  ck_abort_msg("%s", message);
}

static void set_up(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("math", context);
  for (int i = 0; i < test_reference_count * 4; i++) emit_kernel(module, context, i / 4, i / 2 % 2, i % 2);
  LLVMMemoryBufferRef object = emit_object(module);
  check_self_contained(LLVMGetBufferStart(object));
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  check_llvm(LLVMOrcCreateLLJIT(&jit, NULL));
  check_llvm(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), object));
  kernels = calloc((size_t)test_reference_count, sizeof *kernels);
  for (int i = 0; i < test_reference_count * 4; i++) {
    char name[64];
    kernel_name(name, sizeof name, i / 4, i / 2 % 2, i % 2);
    LLVMOrcExecutorAddress address;
    check_llvm(LLVMOrcLLJITLookup(jit, &address, name));
    kernels[i / 4][i / 2 % 2][i % 2] = (kernel)(uintptr_t)address;
  }
}

static void tear_down(void) {
  check_llvm(LLVMOrcDisposeLLJIT(jit));
  free(kernels);
}

/* --- samples --- */

static uint64_t random_bits(uint64_t *state) {
  *state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = (*state ^ (*state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double uniform(uint64_t *state, double low, double high) {
  return low + (high - low) * (double)(random_bits(state) >> 11) * 0x1p-53;
}

static double any_bits(uint64_t *state, int f64) {
  uint64_t bits = random_bits(state);
  double wide;
  float narrow;
  uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return f64 ? wide : (double)narrow;
}

/* Numbers for which no function takes its branch for rare arguments: lanes branch together, so that among 16 numbers of
 * `sample` one nearly always does. */
static double sample_moderate(uint64_t *state) {
  return random_bits(state) & 1 ? uniform(state, -12, 12)
                                : copysign(exp2(uniform(state, -20, 6.4)), uniform(state, -1, 1));
}

/* Bit patterns all over the format, and the ranges where functions bend: every magnitude near one, around one itself,
 * and what exponentials, angles and erfc accept. */
static double sample(uint64_t *state, int f64) {
  uint64_t kind = random_bits(state) % 10;
  double sign = random_bits(state) & 1 ? -1 : 1;
  switch (kind) {
  case 0: return sign * exp2(uniform(state, -60, 60));
  case 1: return sign * exp2(uniform(state, -8, 8));
  case 2: return 1 + sign * exp2(uniform(state, f64 ? -52 : -23, -1));
  case 3: return uniform(state, -6, 6);
  case 4: return f64 ? uniform(state, -760, 760) : uniform(state, -110, 110);
  case 6: return uniform(state, -30, 30); /* the tails of erfc, down to subnormals */
  case 5: return rint(exp2(uniform(state, 0, f64 ? 31 : 20))) * 0x1.921fb54442d18p+0; /* zeros of sin and cos */
  default: return any_bits(state, f64);
  }
}

static void sample_pair(uint64_t *state, int f64, double *x, double *y) {
  *x = sample(state, f64);
  *y = sample(state, f64);
  switch (random_bits(state) % 4) {
  case 0: /* powers in the range of the format */
    *y = uniform(state, f64 ? -1090 : -152, f64 ? 1040 : 130) / log2(fabs(*x));
    break;
  case 1: /* whole exponents, odd and even */ *y = rint(uniform(state, -40, 40)); break;
  case 2: /* quotients of every size */ *y = *x * exp2(uniform(state, -12, 60)); break;
  default: break;
  }
}

/* --- errors --- */

static long double exact_value(const test_reference *f, int f64, double x, double y) {
  return f64 ? test_reference_value(f, x, y) : (long double)test_reference_value_for_f32(f, x, y);
}

typedef struct block {
  union {
    float f32[BLOCK];
    double f64[BLOCK];
  } x, y, lanes, scalar;
} block;

static void set_inputs(block *b, int f64, int i, double x, double y) {
  if (f64) {
    b->x.f64[i] = x;
    b->y.f64[i] = y;
  } else {
    b->x.f32[i] = (float)x;
    b->y.f32[i] = (float)y;
  }
}

/* The worst of those that are not the nearest value there is. */
typedef struct worst {
  double error, x, y, got;
} worst;

/* Most are, and are known without a distance: what 2^32 of them take depends on this. Zeros have a sign to look at. */
static bool is_nearest(int f64, double got, long double exact) {
  return !f64 && got != 0 && got == (double)(float)exact;
}

/* Runs both kernels on a block of inputs, demands equal results, and keeps the worst error. */
static void run_block(int function, int f64, block *b, worst *w) {
  const test_reference *f = &test_references[function];
  kernels[function][f64][0](&b->scalar, &b->x, &b->y, BLOCK);
  kernels[function][f64][1](&b->lanes, &b->x, &b->y, BLOCK);
  for (int i = 0; i < BLOCK; i++) {
    double x = f64 ? b->x.f64[i] : (double)b->x.f32[i], y = f64 ? b->y.f64[i] : (double)b->y.f32[i];
    double got = f64 ? b->lanes.f64[i] : (double)b->lanes.f32[i];
    double alone = f64 ? b->scalar.f64[i] : (double)b->scalar.f32[i];
    /* Checked here first: an assertion of Check costs a system call. */
    if (memcmp(&got, &alone, sizeof got) != 0 && !(isnan(got) && isnan(alone))) {
      ck_abort_msg("%s %s(%a, %a): lanes give %a, the scalar form %a", name_of(function), f64 ? "f64" : "f32", x, y,
                   got, alone);
    }
    long double exact = exact_value(f, f64, x, y);
    if (is_nearest(f64, got, exact)) continue;
    double error = test_reference_distance_at(f, dtype_of(f64), got, exact, x, y);
    if (error > w->error) *w = (worst){error, x, y, got};
  }
}

static void fill_block(const test_reference *f, int f64, int number, uint64_t *state, block *b) {
  int specials = f->unary ? SPECIALS : SPECIALS * SPECIALS;
  for (int i = 0; i < BLOCK; i++) {
    int index = number * BLOCK + i;
    double x, y;
    if (index < specials) {
      x = special_value(index % SPECIALS);
      y = special_value(index / SPECIALS);
    } else if (f->unary) {
      x = y = number % 2 ? sample_moderate(state) : sample(state, f64);
    } else {
      sample_pair(state, f64, &x, &y);
    }
    set_inputs(b, f64, i, x, y);
  }
}

static void check_worst(int function, int f64, const worst *w) {
  const test_reference *f = &test_references[function];
  printf("%-8s %s %.3f ulp at %a", name_of(function), f64 ? "f64" : "f32", w->error, w->x);
  if (f->binary) printf(", %a", w->y);
  printf("\n");
  double bound = test_reference_bound(f);
  ck_assert_msg(w->error <= bound, "%s %s: %.3f ulp (at most %g) at x = %a, y = %a: got %a, expected %La; seed %#llx",
                name_of(function), f64 ? "f64" : "f32", w->error, bound, w->x, w->y, w->got,
                exact_value(f, f64, w->x, w->y), (unsigned long long)SEED);
}

START_TEST(error_stays_within_the_limit) {
  int function = _i / 2, f64 = _i % 2;
  const test_reference *f = &test_references[function];
  block *b = malloc(sizeof *b);
  worst w = {0};
  uint64_t state = SEED;
  /* Thousands of terms take as long as thousands of functions. */
  int samples = (f64 ? SAMPLES_F64 : SAMPLES_F32) / (f->scale ? 64 : 1);
  int blocks = (samples + BLOCK - 1) / BLOCK;
  for (int n = 0; n < blocks; n++) {
    fill_block(f, f64, n, &state, b);
    run_block(function, f64, b, &w);
  }
  free(b);
  check_worst(function, f64, &w);
}
END_TEST

/* All 2^32 of them: minutes a function, so that it is run when asked for (./dev test --exhaustive). */
START_TEST(every_f32_stays_within_the_limit) {
  if (!test_references[_i].unary || !test_is_chosen(laze_op_get(test_references[_i].op)->name)) return;
  block *b = malloc(sizeof *b);
  worst w = {0};
  for (uint64_t first = 0; first < UINT64_C(1) << 32; first += BLOCK) {
    for (uint32_t i = 0; i < BLOCK; i++) {
      uint32_t bits = (uint32_t)first + i;
      memcpy(&b->x.f32[i], &bits, sizeof bits);
    }
    run_block(_i, 0, b, &w);
  }
  free(b);
  check_worst(_i, 0, &w);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("llvm_math");
  TCase *tcase = tcase_create("functions");
  tcase_add_unchecked_fixture(tcase, set_up, tear_down);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, error_stays_within_the_limit, 0, test_reference_count * 2);
  suite_add_tcase(suite, tcase);
  TCase *all = tcase_create("every f32");
  tcase_add_unchecked_fixture(all, set_up, tear_down);
  tcase_set_timeout(all, 0);
  if (test_setting("LAZE_TEST_EXHAUSTIVE", 0))
    tcase_add_loop_test(all, every_f32_stays_within_the_limit, 0, test_reference_count);
  suite_add_tcase(suite, all);
  return test_run_suite(suite);
}
