/* Reduction of an angle to [-pi/4, pi/4].
 *
 * Up to a limit, x - n pi/2 is three fused multiply-adds: the first is exact because its result fits the format, the
 * error of the second is kept for the tail. Beyond it (rare, so a branch of the whole vector) each lane calls a
 * function in the same module that multiplies the mantissa by the 192 bits of 2/pi that matter at its exponent (Payne,
 * Hanek):
 *
 *     if any lane is large:
 *       for lane in lanes: (r, tail, quadrant)[lane] = large[lane] ? laze.angle(x[lane]) : as before
 */
#include "codegen/llvm/math_vocabulary.h"

#define PI_2_HI 0x1.921fb54442d18p+0
#define PI_2_LO 0x1.1a62633145c07p-54
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define ANGLE_FUNCTION "laze.angle"

/* A word of zeros, then 2/pi as a binary fraction, 64 bits a word. */
static const uint64_t two_over_pi[] = {0,
                                       0xa2f9836e4e441529,
                                       0xfc2757d1f534ddc0,
                                       0xdb6295993c439041,
                                       0xfe5163abdebbc561,
                                       0xb7246e3a424dd2e0,
                                       0x06492eea09d1921c,
                                       0xfe1deb1cb129a73e,
                                       0xe88235f52ebb4484,
                                       0xe99c7026b45f7e41,
                                       0x3991d639835339f4,
                                       0x9c845f8bbdf9283b,
                                       0x1ff897ffde05980f,
                                       0xef2f118b5a0a6d1f,
                                       0x6d367ecf27cb09b7,
                                       0x4f463f669e5fea2d,
                                       0x7527bac7ebe5f17b,
                                       0x3d0739f78a5292ea,
                                       0x6bfb5fb11f8d5d08,
                                       0x56033046fc7b6bab};

static LLVMTypeRef integer_type(const laze_llvm_emitter *e, unsigned bits) {
  return LLVMIntTypeInContext(e->context, bits);
}
static LLVMValueRef extend(const laze_llvm_emitter *e, LLVMValueRef x, unsigned bits) {
  return LLVMBuildZExt(e->builder, x, integer_type(e, bits), "");
}
static LLVMValueRef low_word(const laze_llvm_emitter *e, LLVMValueRef x, int shift) {
  return LLVMBuildTrunc(e->builder, LLVMBuildLShr(e->builder, x, integer(x, shift), ""), integer_type(e, 64), "");
}
static LLVMValueRef multiply(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildMul(e->builder, a, b, "");
}

static LLVMValueRef emit_table(const laze_llvm_emitter *e) {
  LLVMTypeRef word = integer_type(e, 64);
  LLVMValueRef words[COUNT(two_over_pi)];
  for (int i = 0; i < COUNT(two_over_pi); i++) words[i] = LLVMConstInt(word, two_over_pi[i], false);
  LLVMTypeRef type = LLVMArrayType2(word, COUNT(two_over_pi));
  LLVMValueRef table = LLVMAddGlobal(e->module, type, ANGLE_FUNCTION ".table");
  LLVMSetInitializer(table, LLVMConstArray2(word, words, COUNT(two_over_pi)));
  LLVMSetGlobalConstant(table, true);
  LLVMSetLinkage(table, LLVMPrivateLinkage);
  return table;
}

/* x * 2/pi / 4 modulo one, for x = mantissa * 2^(exponent - 1075), as a fraction of 128 bits: the position in a turn.
 */
static LLVMValueRef emit_turn(const laze_llvm_emitter *e, LLVMValueRef mantissa, LLVMValueRef exponent) {
  LLVMTypeRef word = integer_type(e, 64);
  LLVMValueRef table = emit_table(e);
  LLVMValueRef position = integer_plus(e, exponent, 64 - 2 - 1075);
  LLVMValueRef first = LLVMBuildLShr(e->builder, position, integer(position, 6), "");
  LLVMValueRef shift = integer_and(e, position, 63);
  LLVMValueRef words[4], window[3];
  for (int i = 0; i < 4; i++) {
    LLVMValueRef index = integer_plus(e, first, i);
    LLVMValueRef address = LLVMBuildInBoundsGEP2(e->builder, word, table, &index, 1, "");
    words[i] = LLVMBuildLoad2(e->builder, word, address, "");
  }
  for (int i = 0; i < 3; i++) {
    LLVMValueRef operands[3] = {words[i], words[i + 1], shift};
    window[i] = laze_llvm_intrinsic(e, "llvm.fshl", operands, 3);
  }
  LLVMValueRef wide = extend(e, mantissa, 128);
  LLVMValueRef last = extend(e, low_word(e, multiply(e, wide, extend(e, window[2], 128)), 64), 128);
  LLVMValueRef sum = LLVMBuildAdd(e->builder, multiply(e, wide, extend(e, window[1], 128)), last, "");
  LLVMValueRef first_part = extend(e, multiply(e, mantissa, window[0]), 128);
  return LLVMBuildAdd(e->builder, sum, LLVMBuildShl(e->builder, first_part, integer(sum, 64), ""), "");
}

/* A fraction of a turn, 128 bits with sign, in radians. */
static laze_pair emit_radians(const laze_llvm_emitter *e, LLVMValueRef fraction) {
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->context);
  LLVMValueRef is_negative = LLVMBuildICmp(e->builder, LLVMIntSLT, fraction, integer(fraction, 0), "");
  LLVMValueRef size = choose(e, is_negative, LLVMBuildNeg(e->builder, fraction, ""), fraction);
  LLVMValueRef operands[2] = {size, LLVMConstInt(integer_type(e, 1), 0, false)};
  LLVMTypeRef overload = LLVMTypeOf(size);
  unsigned id = LLVMLookupIntrinsicID("llvm.ctlz", 9);
  LLVMValueRef zeros = LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, &overload, 1),
                                      LLVMGetIntrinsicDeclaration(e->module, id, &overload, 1), operands, 2, "");
  LLVMValueRef normal = LLVMBuildShl(e->builder, size, zeros, "");
  /* Two chunks of 53 bits, each exact as a double; a fraction is never zero. */
  LLVMValueRef top = LLVMBuildSIToFP(e->builder, low_word(e, normal, 75), f64, "");
  LLVMValueRef rest = integer_and(e, low_word(e, normal, 22), (INT64_C(1) << 53) - 1);
  LLVMValueRef bottom = LLVMBuildSIToFP(e->builder, rest, f64, "");
  /* In quarter turns: bit 126 of the fraction is one. */
  LLVMValueRef zeros_word = low_word(e, zeros, 0);
  LLVMValueRef exponent = integer_minus(e, integer(zeros_word, 75 - 126), zeros_word);
  LLVMValueRef scale = laze_math_power_of_two(e, exponent);
  scale = choose(e, is_negative, negate(e, scale), scale);
  laze_pair quarters = {times(e, top, scale), times(e, bottom, times_real(e, scale, 0x1p-53))};
  laze_pair pi_2 = {real(top, PI_2_HI), real(top, PI_2_LO)};
  laze_pair radians = laze_math_pair_times(e, quarters, pi_2);
  return laze_math_sum(e, radians.hi, radians.lo);
}

/* The body of laze.angle: { f64 r, f64 tail, i64 quadrant } of one f64, at least 2^17 in size; infinity gives NaN. */
static void emit_angle_body(const laze_llvm_emitter *e, LLVMValueRef x, LLVMTypeRef result_type) {
  LLVMValueRef bits = laze_math_bits(e, x);
  LLVMValueRef exponent = integer_and(e, LLVMBuildLShr(e->builder, bits, integer(bits, 52), ""), 0x7ff);
  LLVMValueRef fraction_bits = integer_and(e, bits, (INT64_C(1) << 52) - 1);
  LLVMValueRef mantissa = LLVMBuildOr(e->builder, fraction_bits, integer(bits, INT64_C(1) << 52), "");
  /* Small lanes, whose result is not used, must stay inside the table. */
  LLVMValueRef small = LLVMBuildICmp(e->builder, LLVMIntULT, exponent, integer(exponent, 1023 + 17), "");
  LLVMValueRef turn = emit_turn(e, mantissa, choose(e, small, integer(exponent, 1023 + 17), exponent));

  LLVMTypeRef wide = LLVMTypeOf(turn);
  LLVMValueRef eighth = LLVMBuildShl(e->builder, LLVMConstInt(wide, 1, false), LLVMConstInt(wide, 125, false), "");
  LLVMValueRef nearest = LLVMBuildLShr(e->builder, LLVMBuildAdd(e->builder, turn, eighth, ""), integer(turn, 126), "");
  LLVMValueRef whole = LLVMBuildShl(e->builder, nearest, integer(turn, 126), "");
  laze_pair r = emit_radians(e, LLVMBuildSub(e->builder, turn, whole, ""));
  LLVMValueRef quadrant = low_word(e, nearest, 0);

  LLVMValueRef is_negative = below(e, x, 0);
  r.hi = choose(e, is_negative, negate(e, r.hi), r.hi);
  r.lo = choose(e, is_negative, negate(e, r.lo), r.lo);
  quadrant = choose(e, is_negative, LLVMBuildNeg(e->builder, quadrant, ""), quadrant);
  r.hi = choose(e, equals(e, magnitude(e, x), INFINITY), real(x, NAN), r.hi);
  LLVMValueRef result = LLVMGetUndef(result_type);
  result = LLVMBuildInsertValue(e->builder, result, r.hi, 0, "");
  result = LLVMBuildInsertValue(e->builder, result, r.lo, 1, "");
  result = LLVMBuildInsertValue(e->builder, result, quadrant, 2, "");
  LLVMBuildRet(e->builder, result);
}

/* Calls laze.angle, which is emitted on first use in a module. */
static LLVMValueRef call_angle(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->context);
  LLVMTypeRef members[3] = {f64, f64, integer_type(e, 64)};
  LLVMTypeRef result = LLVMStructTypeInContext(e->context, members, 3, false);
  LLVMTypeRef type = LLVMFunctionType(result, &f64, 1, false);
  LLVMValueRef function = LLVMGetNamedFunction(e->module, ANGLE_FUNCTION);
  if (!function) {
    function = LLVMAddFunction(e->module, ANGLE_FUNCTION, type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    laze_llvm_emitter inner = {e->context, e->module, LLVMCreateBuilderInContext(e->context), e->converts_f16};
    LLVMPositionBuilderAtEnd(inner.builder, LLVMAppendBasicBlockInContext(e->context, function, "entry"));
    emit_angle_body(&inner, LLVMGetParam(function, 0), result);
    LLVMDisposeBuilder(inner.builder);
  }
  return LLVMBuildCall2(e->builder, type, function, &x, 1, "");
}

static laze_angle reduce_small_f64(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef n;
  laze_angle angle;
  angle.quadrant = laze_math_nearest(e, x, TWO_OVER_PI, &n);
  LLVMValueRef first = fused(e, n, real(x, -PI_2_HI), x); /* exact */
  laze_pair second = laze_math_product(e, n, real(x, -PI_2_LO));
  angle.r.hi = plus(e, first, second.hi);
  /* The rounding error of that sum, for either order of sizes. */
  LLVMValueRef part = minus(e, angle.r.hi, first);
  LLVMValueRef lost = plus(e, minus(e, first, minus(e, angle.r.hi, part)), minus(e, second.hi, part));
  angle.r.lo = fused(e, n, real(x, 0x1.f1976b7ed8fbcp-110), plus(e, lost, second.lo));
  return angle;
}

/* In f64, where two parts of pi/2 are enough to round once at the end: no tail. */
static laze_angle reduce_small_f32(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef n;
  laze_angle angle;
  angle.quadrant = laze_math_nearest(e, x, TWO_OVER_PI, &n);
  LLVMValueRef wide = laze_math_widen(e, x), wide_n = laze_math_widen(e, n);
  wide = fused(e, wide_n, real(wide, -PI_2_HI), wide);
  angle.r.hi = laze_math_narrow(e, fused(e, wide_n, real(wide, -PI_2_LO), wide));
  angle.r.lo = NULL;
  return angle;
}

/* laze.angle of one f32 or f64, split into the parts of an angle of that type. */
static laze_angle reduce_large(const laze_llvm_emitter *e, LLVMValueRef x) {
  if (!laze_math_is_f32(x)) {
    LLVMValueRef result = call_angle(e, x);
    return (laze_angle){
        {LLVMBuildExtractValue(e->builder, result, 0, ""), LLVMBuildExtractValue(e->builder, result, 1, "")},
        LLVMBuildExtractValue(e->builder, result, 2, "")};
  }
  LLVMValueRef result = call_angle(e, laze_math_widen(e, x));
  LLVMValueRef hi = laze_math_narrow(e, LLVMBuildExtractValue(e->builder, result, 0, ""));
  LLVMValueRef quadrant = LLVMBuildExtractValue(e->builder, result, 2, "");
  return (laze_angle){{hi, NULL}, LLVMBuildTrunc(e->builder, quadrant, integer_type(e, 32), "")};
}

/* The parts of an angle in the order in which branches merge them; returns how many there are (f32 has no tail). */
static int unpack(laze_angle angle, LLVMValueRef parts[3]) {
  parts[0] = angle.r.hi;
  parts[1] = angle.quadrant;
  parts[2] = angle.r.lo;
  return angle.r.lo ? 3 : 2;
}

/* In `block`: replaces the lanes of `parts` that are large, one at a time, and leaves for `done`. */
static void emit_lanes(const laze_llvm_emitter *e, LLVMBasicBlockRef block, LLVMBasicBlockRef done, LLVMValueRef x,
                       LLVMValueRef large, LLVMValueRef parts[3], int count) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, block);
  LLVMTypeRef index_type = integer_type(e, 32);
  LLVMValueRef lane = LLVMBuildPhi(e->builder, index_type, "lane");
  LLVMValueRef carried[3], scalars[3];
  for (int i = 0; i < count; i++) carried[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(parts[i]), "");
  unpack(reduce_large(e, LLVMBuildExtractElement(e->builder, x, lane, "")), scalars);
  LLVMValueRef is_large = LLVMBuildExtractElement(e->builder, large, lane, "");
  LLVMValueRef next = integer_plus(e, lane, 1);
  LLVMAddIncoming(lane, (LLVMValueRef[]){LLVMConstInt(index_type, 0, false), next},
                  (LLVMBasicBlockRef[]){before, block}, 2);
  for (int i = 0; i < count; i++) {
    LLVMValueRef old = LLVMBuildExtractElement(e->builder, carried[i], lane, "");
    LLVMValueRef value = choose(e, is_large, scalars[i], old);
    value = LLVMBuildInsertElement(e->builder, carried[i], value, lane, "");
    LLVMAddIncoming(carried[i], (LLVMValueRef[]){parts[i], value}, (LLVMBasicBlockRef[]){before, block}, 2);
    parts[i] = value;
  }
  LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntULT, next, integer(next, LAZE_LANES), "");
  LLVMBuildCondBr(e->builder, more, block, done);
}

laze_angle laze_math_reduce_angle(const laze_llvm_emitter *e, LLVMValueRef x) {
  bool f32 = laze_math_is_f32(x), is_vector = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
  laze_angle fast = f32 ? reduce_small_f32(e, x) : reduce_small_f64(e, x);
  LLVMValueRef large = above(e, magnitude(e, x), f32 ? 0x1p17 : 0x1p30);
  LLVMValueRef any = laze_math_any(e, large);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(e->builder);
  LLVMValueRef function = LLVMGetBasicBlockParent(start);
  LLVMBasicBlockRef slow = LLVMAppendBasicBlockInContext(e->context, function, "large_angle");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "reduced_angle");
  LLVMBuildCondBr(e->builder, any, slow, done);

  LLVMValueRef from_start[3], from_slow[3], merged[3] = {NULL, NULL, NULL};
  int count = unpack(fast, from_start);
  unpack(fast, from_slow);
  if (is_vector) {
    emit_lanes(e, slow, done, x, large, from_slow, count);
  } else {
    LLVMPositionBuilderAtEnd(e->builder, slow);
    unpack(reduce_large(e, x), from_slow);
    LLVMBuildBr(e->builder, done);
  }
  LLVMPositionBuilderAtEnd(e->builder, done);
  for (int i = 0; i < count; i++) {
    merged[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(from_start[i]), "");
    LLVMAddIncoming(merged[i], (LLVMValueRef[]){from_start[i], from_slow[i]}, (LLVMBasicBlockRef[]){start, slow}, 2);
  }
  return (laze_angle){{merged[0], merged[2]}, merged[1]};
}
