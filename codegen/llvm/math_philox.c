/* Random bits: Philox 4x32 with 10 rounds (Salmon et al., 2011). A round multiplies two of the four words and mixes the
 * halves of the products with the other two and the key:
 *
 *   (x0, x1, x2, x3) -> (high(m1 x2) ^ x1 ^ k0, low(m1 x2), high(m0 x0) ^ x3 ^ k1, low(m0 x0))
 */
#include "codegen/llvm/lowerings.h"

/* Words of Philox are kept in i64 with the upper half zero: then a product of two is one 32x32->64 multiplication. */
static LLVMValueRef low_word(const laze_llvm_emitter *e, LLVMValueRef x) {
  return LLVMBuildAnd(e->builder, x, laze_llvm_integer(LLVMTypeOf(x), 0xFFFFFFFF), "");
}
static LLVMValueRef high_word(const laze_llvm_emitter *e, LLVMValueRef x) {
  return LLVMBuildLShr(e->builder, x, laze_llvm_integer(LLVMTypeOf(x), 32), "");
}
static LLVMValueRef mixed(const laze_llvm_emitter *e, LLVMValueRef product, LLVMValueRef word, LLVMValueRef key) {
  return LLVMBuildXor(e->builder, LLVMBuildXor(e->builder, high_word(e, product), word, ""), key, "");
}
static LLVMValueRef next_key(const laze_llvm_emitter *e, LLVMValueRef key, int64_t weyl) {
  return low_word(e, LLVMBuildAdd(e->builder, key, laze_llvm_integer(LLVMTypeOf(key), weyl), ""));
}
static LLVMValueRef times(const laze_llvm_emitter *e, LLVMValueRef word, int64_t multiplier) {
  return LLVMBuildMul(e->builder, word, laze_llvm_integer(LLVMTypeOf(word), multiplier), "");
}

LAZE_LOWERING(philox) {
  LLVMValueRef key0 = low_word(e, operands[0]), key1 = high_word(e, operands[0]);
  LLVMValueRef x0 = low_word(e, operands[1]), x1 = high_word(e, operands[1]);
  LLVMValueRef x2 = LLVMConstNull(LLVMTypeOf(x0)), x3 = x2;
  for (int round = 0; round < 10; round++) {
    LLVMValueRef product0 = times(e, x0, 0xD2511F53), product1 = times(e, x2, 0xCD9E8D57);
    x0 = mixed(e, product1, x1, key0);
    x1 = low_word(e, product1);
    x2 = mixed(e, product0, x3, key1);
    x3 = low_word(e, product0);
    key0 = next_key(e, key0, 0x9E3779B9);
    key1 = next_key(e, key1, 0xBB67AE85);
  }
  LLVMValueRef upper = LLVMBuildShl(e->builder, x1, laze_llvm_integer(LLVMTypeOf(x1), 32), "");
  return LLVMBuildOr(e->builder, upper, x0, "");
}
