/* Conversions between dtypes, by their kinds:
 *
 *   from \ to   bool      integer              float
 *   bool        -         zero-extended        0 or 1
 *   integer     x != 0    extended or cut      rounded
 *   float       x != 0    truncated in range   rounded or widened
 *
 * Of a complex number it is the real part that becomes anything but another one or a bool, which is whether a part is
 * not 0.
 * Floats of 16 bits are their bits, and become anything else, and are made of it, by way of f32 (math_half.c).
 * "In range" is that of i32 or i64, of which narrower and unsigned integers have the low bits; u64 takes in what is
 * above i64, too.
 */
#include "codegen/llvm/lowerings.h"

static LLVMValueRef real_to_signed(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  LLVMTypeRef type = LLVMTypeOf(value), integers = laze_llvm_type_like(e, to, value);
  int64_t least = laze_dtype_lowest(to).value.integer;
  double lowest = (double)least;
  /* Where a float has digits behind the point there, what is just below the lowest integer still truncates to it (f64
   * below -2^31). Otherwise the next float lies outside. */
  bool fraction = laze_dtype_get(from)->digits > laze_dtype_get(to)->bits;
  LLVMValueRef above = LLVMBuildFCmp(e->builder, fraction ? LLVMRealOGT : LLVMRealOGE, value,
                                     laze_llvm_real(type, lowest - fraction), "");
  LLVMValueRef below = LLVMBuildFCmp(e->builder, LLVMRealOLT, value, laze_llvm_real(type, -lowest), "");
  LLVMValueRef valid = LLVMBuildAnd(e->builder, above, below, "");
  /* The select comes first: a conversion out of range would be poison. */
  LLVMValueRef safe = LLVMBuildSelect(e->builder, valid, value, LLVMConstNull(type), "");
  LLVMValueRef truncated = LLVMBuildFPToSI(e->builder, safe, integers, "");
  return LLVMBuildSelect(e->builder, valid, truncated, laze_llvm_integer(integers, least), "");
}

/* From 2^63 on as unsigned; 0 where 2^64 is too large. What is below, or no number, goes by way of i64. */
static LLVMValueRef real_to_u64(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from) {
  LLVMTypeRef type = LLVMTypeOf(value), integers = laze_llvm_type_like(e, LAZE_U64, value);
  LLVMValueRef high = LLVMBuildFCmp(e->builder, LLVMRealOGE, value, laze_llvm_real(type, 0x1p63), "");
  LLVMValueRef fits = LLVMBuildFCmp(e->builder, LLVMRealOLT, value, laze_llvm_real(type, 0x1p64), "");
  LLVMValueRef top = laze_llvm_real(type, 0x1p63);
  LLVMValueRef rest = LLVMBuildFSub(e->builder, value, top, ""); /* exact from 2^63 to 2^64 */
  rest = LLVMBuildSelect(e->builder, LLVMBuildAnd(e->builder, high, fits, ""), rest, LLVMConstNull(type), "");
  LLVMValueRef upper = LLVMBuildAdd(e->builder, LLVMBuildFPToSI(e->builder, rest, integers, ""),
                                    laze_llvm_integer(integers, INT64_MIN), "");
  upper = LLVMBuildSelect(e->builder, fits, upper, LLVMConstNull(integers), "");
  return LLVMBuildSelect(e->builder, high, upper, real_to_signed(e, value, from, LAZE_I64), "");
}

static LLVMValueRef to_boolean(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  return laze_dtype_is_float(from) ? LLVMBuildFCmp(e->builder, LLVMRealUNE, value, zero, "")
                                   : LLVMBuildICmp(e->builder, LLVMIntNE, value, zero, "");
}

static LLVMValueRef to_integer(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  LLVMTypeRef type = laze_llvm_type_like(e, to, value);
  bool is_signed = true;
  switch (laze_dtype_kind(from)) {
  case LAZE_KIND_NONE:
  case LAZE_KIND_COMPLEX: return value;
  case LAZE_KIND_BOOL:
  case LAZE_KIND_UNSIGNED: is_signed = false; break;
  case LAZE_KIND_SIGNED: break;
  case LAZE_KIND_FLOAT:
    if (to == LAZE_U64) return real_to_u64(e, value, from);
    value = real_to_signed(e, value, from, laze_integer_converted_by(to));
    break;
  }
  return LLVMBuildIntCast2(e->builder, value, type, is_signed, "");
}

static LLVMValueRef to_real(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  LLVMTypeRef type = laze_llvm_type_like(e, to, value);
  switch (laze_dtype_kind(from)) {
  case LAZE_KIND_NONE:
  case LAZE_KIND_COMPLEX: break;
  case LAZE_KIND_BOOL:
  case LAZE_KIND_UNSIGNED: return LLVMBuildUIToFP(e->builder, value, type, "");
  case LAZE_KIND_SIGNED: return LLVMBuildSIToFP(e->builder, value, type, "");
  case LAZE_KIND_FLOAT: return LLVMBuildFPCast(e->builder, value, type, "");
  }
  return value;
}

static LLVMValueRef from_complex(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  const laze_dtype part = laze_dtype_part(from);
  LLVMValueRef parts[2];
  for (int i = 0; i < 2; i++)
    parts[i] = laze_math_convert(e, laze_math_part(e, value, from, i), part, laze_dtype_part(to));
  if (to == LAZE_BOOL) return LLVMBuildOr(e->builder, parts[0], parts[1], "");
  return laze_dtype_is_complex(to) ? laze_math_pair(e, parts[0], parts[1], to) : parts[0];
}

static LLVMValueRef to_complex(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  LLVMValueRef converted = laze_math_convert(e, value, from, laze_dtype_part(to));
  return laze_math_pair(e, converted, LLVMConstNull(LLVMTypeOf(converted)), to);
}

LLVMValueRef laze_math_convert(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  if (from == to) return value;
  if (laze_dtype_is_complex(from)) return from_complex(e, value, from, to);
  if (laze_dtype_is_complex(to)) return to_complex(e, value, from, to);
  if (laze_dtype_is_half(from)) return laze_math_convert(e, laze_math_load_half(e, value, from), LAZE_F32, to);
  if (laze_dtype_is_half(to)) return laze_math_store_half(e, laze_math_convert(e, value, from, LAZE_F32), to);
  switch (laze_dtype_kind(to)) {
  case LAZE_KIND_NONE:
  case LAZE_KIND_COMPLEX: break;
  case LAZE_KIND_BOOL: return to_boolean(e, value, from);
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: return to_integer(e, value, from, to);
  case LAZE_KIND_FLOAT: return to_real(e, value, from, to);
  }
  return value;
}
