/* The code generator's table: kernels and a target in, an object for it out. No pass runs over the IR; the kernels
 * are written as they should be (see kernel.h). */
#include "codegen/llvm/generator.h"
#include "codegen/llvm/kernel.h"
#include "codegen/llvm/reserve.h"
#include "ir/op.gen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef struct {
  laze_llvm_emitter e;
  const laze_target *target;
  char *triple, *host_cpu, *host_features; /* LLVM's strings */
  const char *cpu, *features;
  LLVMTargetMachineRef machine;
  laze_arena arena;
  char diagnostic[256]; /* the first error LLVM reported; empty: none */
} compiler;

/* Address space that is enough for all that LLVM allocates for a module, whatever it frees. Measured, with every
 * allocation from the reserve: 2.3 MiB for a small one, and 46 KiB more for each instruction of loop IR where most are
 * elementary functions. */
enum { RESERVE_BYTES = 32 << 20, RESERVE_PER_INSTRUCTION = 192 << 10 };

/* LLVM would end the process. */
static void on_fatal_error(const char *reason) {
  laze_reserve_escape(LAZE_INTERNAL, reason);
}

/* LLVM keeps its list of targets for the whole process and does not lock it. */
static pthread_once_t targets_once = PTHREAD_ONCE_INIT;
static void initialize_targets(void) {
  LLVMInstallFatalErrorHandler(on_fatal_error);
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *self) {
  compiler *c = self;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || c->diagnostic[0]) return;
  char *text = LLVMGetDiagInfoDescription(info);
  strncpy(c->diagnostic, text, sizeof c->diagnostic - 1);
  LLVMDisposeMessage(text);
}

static laze_status create_machine(compiler *c, laze_error *error) {
  LLVMTargetRef target = NULL;
  char *message = NULL;
  c->triple = LLVMGetDefaultTargetTriple();
  c->cpu = c->target->cpu ? c->target->cpu : (c->host_cpu = LLVMGetHostCPUName());
  c->features = c->target->features ? c->target->features : (c->host_features = LLVMGetHostCPUFeatures());
  if (LLVMGetTargetFromTriple(c->triple, &target, &message)) {
    laze_status status =
        laze_fail(error, LAZE_UNSUPPORTED, "LLVM has no code generator for %s: %s", c->triple, message);
    LLVMDisposeMessage(message);
    return status;
  }
  c->machine = LLVMCreateTargetMachine(target, c->triple, c->cpu, c->features, LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                       LLVMCodeModelSmall);
  return c->machine ? LAZE_OK
                    : laze_fail(error, LAZE_UNSUPPORTED, "LLVM cannot generate code for %s (%s)", c->triple, c->cpu);
}

/* Products and elementary functions are chains of fused multiply-adds; where the processor has none, LLVM would call
 * fma() from the C library, which kernels cannot. */
static laze_status check_processor(const compiler *c, laze_error *error) {
  if (c->target->has_fused_multiply_add) return LAZE_OK;
  return laze_fail(
      error, LAZE_UNSUPPORTED,
      "the processor (%s) has no fused multiply-add, which native kernels need; use the backend \"interp\"", c->cpu);
}

static void set_layout(compiler *c) {
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
  char *text = LLVMCopyStringRepOfTargetData(layout);
  LLVMSetTarget(c->e.module, c->triple);
  LLVMSetDataLayout(c->e.module, text);
  LLVMDisposeMessage(text);
  LLVMDisposeTargetData(layout);
}

static laze_status open_compiler(compiler *c, laze_error *error) {
  pthread_once(&targets_once, initialize_targets);
  c->e.context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(c->e.context, on_diagnostic, c);
  c->e.module = LLVMModuleCreateWithNameInContext("laze", c->e.context);
  c->e.builder = LLVMCreateBuilderInContext(c->e.context);
  LAZE_TRY(create_machine(c, error));
  LAZE_TRY(check_processor(c, error));
  set_layout(c);
  return LAZE_OK;
}

static void close_compiler(compiler *c) {
  LLVMDisposeBuilder(c->e.builder);
  LLVMDisposeModule(c->e.module);
  LLVMContextDispose(c->e.context);
  if (c->machine) LLVMDisposeTargetMachine(c->machine);
  LLVMDisposeMessage(c->triple);
  LLVMDisposeMessage(c->host_cpu);
  LLVMDisposeMessage(c->host_features);
}

static void add_text_attribute(const compiler *c, LLVMValueRef function, const char *name, const char *value) {
  LLVMAttributeRef attribute =
      LLVMCreateStringAttribute(c->e.context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
}

/* Every function alike, helpers included. */
static void add_attributes(const compiler *c) {
  unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
  for (LLVMValueRef function = LLVMGetFirstFunction(c->e.module); function; function = LLVMGetNextFunction(function)) {
    if (LLVMIsDeclaration(function)) continue;
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(c->e.context, nounwind, 0));
    add_text_attribute(c, function, "target-cpu", c->cpu);
    add_text_attribute(c, function, "target-features", c->features);
    /* Some processors are told to prefer half of their registers, which here would split every vector. */
    if (c->target->vectors.register_bytes == 64) add_text_attribute(c, function, "prefer-vector-width", "512");
  }
}

static laze_status verify_module(const compiler *c, laze_error *error) {
  char *message = NULL;
  laze_status status = LAZE_OK;
  if (LLVMVerifyModule(c->e.module, LLVMReturnStatusAction, &message))
    status = laze_fail(error, LAZE_INTERNAL, "the lowering made LLVM IR that LLVM refuses: %s", message);
  LLVMDisposeMessage(message);
  return status;
}

static laze_status emit(compiler *c, laze_llvm_output kind, laze_text *out, laze_error *error) {
  if (kind == LAZE_LLVM_IR) {
    char *text = LLVMPrintModuleToString(c->e.module);
    laze_text_append(out, text);
    LLVMDisposeMessage(text);
    return laze_text_check(out, error);
  }
  char *message = NULL;
  LLVMMemoryBufferRef bytes = NULL;
  LLVMCodeGenFileType type = kind == LAZE_LLVM_OBJECT ? LLVMObjectFile : LLVMAssemblyFile;
  if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->e.module, type, &message, &bytes)) {
    laze_status status = laze_fail(error, LAZE_INTERNAL, "LLVM could not generate code: %s", message);
    LLVMDisposeMessage(message);
    return status;
  }
  if (!c->diagnostic[0]) laze_text_append_bytes(out, LLVMGetBufferStart(bytes), (int64_t)LLVMGetBufferSize(bytes));
  LLVMDisposeMemoryBuffer(bytes);
  if (c->diagnostic[0]) return laze_fail(error, LAZE_INTERNAL, "LLVM could not generate code: %s", c->diagnostic);
  return laze_text_check(out, error);
}

static laze_status compile_into(compiler *c, const laze_llvm_request *request, laze_error *error) {
  for (int32_t k = 0; k < request->count; k++)
    LAZE_TRY(
        laze_llvm_add_kernel(&c->e, c->target->vectors, request->kernels[k], request->symbols[k], &c->arena, error));
  add_attributes(c);
  return verify_module(c, error);
}

/* Comes back by `escape` where LLVM cannot go on; what it has then is lost. */
static laze_status run(compiler *c, laze_reserve *reserve, const laze_llvm_request *request, laze_text *out,
                       laze_error *error) {
  if (sigsetjmp(reserve->escape, 0) != 0)
    return laze_fail(error, reserve->status, "the code generator cannot go on, and not be used again: %s",
                     reserve->reason);
  laze_status status = open_compiler(c, error);
  if (status == LAZE_OK) status = compile_into(c, request, error);
  if (status == LAZE_OK) status = emit(c, request->kind, out, error);
  close_compiler(c);
  return status;
}

static size_t reserve_bytes(const laze_llvm_request *request) {
  size_t bytes = RESERVE_BYTES;
  for (int32_t i = 0; i < request->count; i++)
    bytes += (size_t)request->kernels[i]->instruction_count * RESERVE_PER_INSTRUCTION;
  return bytes;
}

static laze_status compile(laze_context *context, const laze_llvm_request *request, laze_text *out, laze_error *error) {
  compiler c = {.target = request->target, .e.converts_f16 = request->target->converts_f16};
  laze_reserve reserve;
  LAZE_TRY(laze_reserve_open(&reserve, reserve_bytes(request), error));
  laze_arena_init(&c.arena, context);
  laze_status status = run(&c, &reserve, request, out, error);
  laze_arena_deinit(&c.arena);
  laze_reserve_close(&reserve);
  return status;
}

static const char *llvm_file(void) {
  LLVMContextRef (*some)(void) = LLVMContextCreate;
  void *address;
  Dl_info where;
  memcpy(&address, &some, sizeof address); /* ISO C has no conversion between the two kinds of pointer */
  return dladdr(address, &where) ? where.dli_fname : NULL;
}

static const laze_llvm_generator table = {
    .version = LAZE_LLVM_GENERATOR_VERSION,
    .operators = LAZE_OP_NUMBERING,
    .llvm_file = llvm_file,
    .compile = compile,
};

__attribute__((visibility("default"))) const laze_llvm_generator *laze_llvm_generator_get(void);
const laze_llvm_generator *laze_llvm_generator_get(void) {
  return &table;
}
