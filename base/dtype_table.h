/* The dtypes, one row each. All that depends on a dtype is made of its row, here or where it is needed; what cannot be
 * is a switch over the kinds without a default, so that the compiler names the places which a new kind has to visit
 * (docs/decisions/2026-11-dtypes-are-rows.md).
 *
 *      c128      A dtype promotes to those above it, and two dtypes to the lowest that is above both: i8 and u8 to i16.
 *     /    \     The table has them from the bottom to the top, so that is the first row which takes both in.
 *   f64    c64
 *     \    /
 *      f32
 *    /     \
 *  f16     bf16
 *    \     /
 *      i64
 *       |
 *      i32
 *       |
 *      i16
 *     /   \
 *   i8     u8      u16, u32 and u64 stand apart: with floats they give the float, and with all else nothing,
 *     \   /        as in PyTorch (below f16 and bf16, and above nothing).
 *     bool
 *
 * Columns, after `with`, which is what LAZE_DTYPES was given:
 *
 *   id        what the number in laze/dtype.h is called behind LAZE_
 *   name      in graphs, messages and operator tables
 *   kind      LAZE_KIND_..., or HALF: a float that is kept in 16 bits and computed as f32 (base/half.h)
 *   bits      of a value; a bool is one of them, in a byte of its own
 *   digits    binary ones: every number of that many is held exactly; of a complex number those of its parts
 *   c_type    of an element in memory
 *   llvm      of a value in a register, as in LLVMInt32TypeInContext; of a HALF or a complex number its bits
 *   numpy     in the header of a .npy file
 *   torch     as in torch.int32
 *   below     what promotes to it
 */
#ifndef LAZE_BASE_DTYPE_TABLE_H
#define LAZE_BASE_DTYPE_TABLE_H

#include "laze/dtype.h"

#define LAZE_DTYPES(ROW, with)                                                                                         \
  ROW(with, BOOL, "bool", BOOL, 1, 1, uint8_t, Int1, "|b1", "bool", 0)                                                 \
  ROW(with, U8, "u8", UNSIGNED, 8, 8, uint8_t, Int8, "|u1", "uint8", LAZE_UP_TO_BOOL)                                  \
  ROW(with, I8, "i8", SIGNED, 8, 7, int8_t, Int8, "|i1", "int8", LAZE_UP_TO_BOOL)                                      \
  ROW(with, I16, "i16", SIGNED, 16, 15, int16_t, Int16, "<i2", "int16", LAZE_UP_TO_U8 | LAZE_UP_TO_I8)                 \
  ROW(with, I32, "i32", SIGNED, 32, 31, int32_t, Int32, "<i4", "int32", LAZE_UP_TO_I16)                                \
  ROW(with, I64, "i64", SIGNED, 64, 63, int64_t, Int64, "<i8", "int64", LAZE_UP_TO_I32)                                \
  ROW(with, U16, "u16", UNSIGNED, 16, 16, uint16_t, Int16, "<u2", "uint16", 0)                                         \
  ROW(with, U32, "u32", UNSIGNED, 32, 32, uint32_t, Int32, "<u4", "uint32", 0)                                         \
  ROW(with, U64, "u64", UNSIGNED, 64, 64, uint64_t, Int64, "<u8", "uint64", 0)                                         \
  ROW(with, F16, "f16", HALF, 16, 11, uint16_t, Int16, "<f2", "float16", LAZE_UP_TO_I64 | LAZE_APART)                  \
  ROW(with, BF16, "bf16", HALF, 16, 8, uint16_t, Int16, NULL, "bfloat16", LAZE_UP_TO_I64 | LAZE_APART)                 \
  ROW(with, F32, "f32", FLOAT, 32, 24, float, Float, "<f4", "float32", LAZE_UP_TO_F16 | LAZE_UP_TO_BF16)               \
  ROW(with, F64, "f64", FLOAT, 64, 53, double, Double, "<f8", "float64", LAZE_UP_TO_F32)                               \
  ROW(with, C64, "c64", COMPLEX, 64, 24, float _Complex, Int64, "<c8", "complex64", LAZE_NO_APART(F32))                \
  ROW(with, C128, "c128", COMPLEX, 128, 53, double _Complex, Int128, "<c16", "complex128",                             \
      LAZE_NO_APART(F64) | LAZE_UP_TO_C64)

/* A set of dtypes has the bit of each one's number. */
#define LAZE_DTYPE_BIT(id) (UINT32_C(1) << LAZE_##id)
#define LAZE_DTYPE_BIT_OF_ROW(with, id, ...) | LAZE_DTYPE_BIT(id)
#define LAZE_DTYPE_ALL (0 LAZE_DTYPES(LAZE_DTYPE_BIT_OF_ROW, ))

/* The integers that promote to floats alone. */
#define LAZE_APART (LAZE_DTYPE_BIT(U16) | LAZE_DTYPE_BIT(U32) | LAZE_DTYPE_BIT(U64))
#define LAZE_NO_APART(id) (LAZE_UP_TO_##id & ~LAZE_APART)

/* LAZE_UP_TO_F32: what promotes to f32, itself included. */
#define LAZE_UP_TO_OF_ROW(with, id, name, kind, bits, digits, c_type, llvm, numpy, torch, below)                       \
  LAZE_UP_TO_##id = LAZE_DTYPE_BIT(id) | (below),
enum { LAZE_DTYPES(LAZE_UP_TO_OF_ROW, ) };

#define LAZE_DTYPE_BOUND 16 /* every dtype's number is below it */

/* What a value is. A bool is 0 or 1; integers wrap, signed ones in two's complement; floats are IEEE 754's; a complex
 * number is a pair of floats. */
typedef enum {
  LAZE_KIND_NONE,
  LAZE_KIND_BOOL,
  LAZE_KIND_SIGNED,
  LAZE_KIND_UNSIGNED,
  LAZE_KIND_FLOAT,
  LAZE_KIND_COMPLEX,
  LAZE_KIND_HALF = LAZE_KIND_FLOAT, /* to the compiler's eye: only what goes by C types tells them apart */
} laze_kind;

#endif
