/* What takes as many steps as its operands say: a loop over states, until no lane has a further step to take.
 *
 *        state                          a polynomial: k, p(k - 1), p(k)        a sum: x, the terms left, their sum
 *   .-> more(state)? --no lane--> done      k < degree?                            are there any?
 *   |   next(state), in the lanes           k + 1, p(k), p(k + 1)                  x + 1, one less, sum + x^y
 *   '----'   that go on
 *
 * Orthogonal polynomials climb by their three-term recurrences (DLMF 18.9.1). Of what incomplete gamma functions
 * are made of, the series goes on until a term is too small to count, and the fraction has as many levels everywhere.
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

enum { MOST_STATES = 4, MOST_STEPS = 65536, MOST_GAMMA_TERMS = 100, GAMMA_LEVELS = 96 };

typedef LLVMValueRef lane_test(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state);
typedef void lane_step(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                       LLVMValueRef *out);

/* What goes through a loop, with functions of its operands and of a state. */
typedef struct {
  const LLVMValueRef *operands;
  int count;
  lane_test *more;
  lane_step *next;
} lane_loop;

/* `state` is where the loop starts, and then where it ends. */
static void run(const laze_llvm_emitter *e, const lane_loop *loop, LLVMValueRef *state) {
  LLVMBasicBlockRef start = LLVMGetInsertBlock(e->builder);
  LLVMValueRef function = LLVMGetBasicBlockParent(start), phis[MOST_STATES], next[MOST_STATES];
  LLVMBasicBlockRef test = LLVMAppendBasicBlockInContext(e->context, function, "lanes_test");
  LLVMBasicBlockRef step = LLVMAppendBasicBlockInContext(e->context, function, "lanes_step");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "lanes_done");
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  for (int i = 0; i < loop->count; i++) phis[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(state[i]), "");
  LLVMValueRef more = loop->more(e, loop->operands, phis);
  LLVMBuildCondBr(e->builder, laze_math_any(e, more), step, done);
  LLVMPositionBuilderAtEnd(e->builder, step);
  loop->next(e, loop->operands, phis, next);
  for (int i = 0; i < loop->count; i++) next[i] = choose(e, more, next[i], phis[i]);
  LLVMBasicBlockRef blocks[] = {start, LLVMGetInsertBlock(e->builder)};
  LLVMBuildBr(e->builder, test);
  for (int i = 0; i < loop->count; i++) {
    LLVMAddIncoming(phis[i], (LLVMValueRef[]){state[i], next[i]}, blocks, 2);
    state[i] = phis[i];
  }
  LLVMPositionBuilderAtEnd(e->builder, done);
}

/* Of a polynomial: its argument, the number that it starts from, the degree to reach; k, p(k - 1), p(k). */
enum { ARGUMENT, FIRST, DEGREE };
enum { K, P, Q };

static LLVMValueRef is_to_rise(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state) {
  return LLVMBuildFCmp(e->builder, LLVMRealOLE, plus_real(e, state[K], 1), operands[DEGREE], "");
}

static void rise(const laze_llvm_emitter *e, const LLVMValueRef *state, LLVMValueRef higher, LLVMValueRef *out) {
  out[K] = plus_real(e, state[K], 1);
  out[P] = state[Q];
  out[Q] = higher;
}

static void next_chebyshev(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                           LLVMValueRef *out) {
  LLVMValueRef product = times(e, times_real(e, operands[ARGUMENT], 2), state[Q]);
  rise(e, state, minus(e, product, state[P]), out);
}

/* What starts it is a factor here. */
static void next_hermite(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                         LLVMValueRef *out) {
  LLVMValueRef product = times(e, operands[ARGUMENT], state[Q]);
  LLVMValueRef difference = minus(e, product, times(e, state[K], state[P]));
  rise(e, state, times(e, operands[FIRST], difference), out);
}

/* (factor q - k p) / (k + 1) */
static void next_quotient(const laze_llvm_emitter *e, LLVMValueRef factor, const LLVMValueRef *state,
                          LLVMValueRef *out) {
  LLVMValueRef difference = minus(e, times(e, factor, state[Q]), times(e, state[K], state[P]));
  rise(e, state, over(e, difference, plus_real(e, state[K], 1)), out);
}

static void next_laguerre(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                          LLVMValueRef *out) {
  LLVMValueRef odd = plus_real(e, times_real(e, state[K], 2), 1);
  next_quotient(e, minus(e, odd, operands[ARGUMENT]), state, out);
}

static void next_legendre(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                          LLVMValueRef *out) {
  LLVMValueRef odd = plus_real(e, times_real(e, state[K], 2), 1);
  next_quotient(e, times(e, odd, operands[ARGUMENT]), state, out);
}

/* Degrees too high, or none, climb nowhere. */
static LLVMValueRef polynomial(const laze_llvm_emitter *e, lane_step *next, LLVMValueRef argument, LLVMValueRef first,
                               LLVMValueRef start, LLVMValueRef degree) {
  LLVMValueRef low = below(e, degree, MOST_STEPS + 1), zero = real(degree, 0);
  LLVMValueRef operands[] = {argument, first, choose(e, low, degree, zero)};
  LLVMValueRef state[] = {real(start, 1), real(start, 1), start};
  run(e, &(lane_loop){operands, COUNT(state), is_to_rise, next}, state);
  LLVMValueRef result = choose(e, below(e, degree, 1), real(degree, 1), state[Q]);
  result = choose(e, low, result, real(degree, NAN));
  return choose(e, above(e, degree, -1), result, zero);
}

LAZE_LOWERING(chebyshev) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_chebyshev, operands, 3);
  return polynomial(e, next_chebyshev, operands[0], operands[1], operands[1], operands[2]);
}

LAZE_LOWERING(hermite) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_hermite, operands, 3);
  LLVMValueRef start = times(e, operands[1], operands[0]);
  return polynomial(e, next_hermite, operands[0], operands[1], start, operands[2]);
}

LAZE_LOWERING(laguerre) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_laguerre, operands, 2);
  LLVMValueRef start = minus(e, real(operands[0], 1), operands[0]);
  return polynomial(e, next_laguerre, operands[0], start, start, operands[1]);
}

LAZE_LOWERING(legendre) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_legendre, operands, 2);
  return polynomial(e, next_legendre, operands[0], operands[0], operands[0], operands[1]);
}

/* Of a sum of at least 20 powers, and as many as have a base below 20: its exponent; the base, the terms left, the sum
 * so far. */
enum { EXPONENT };
enum { BASE, TERMS, SUM };

static LLVMValueRef are_terms_left(const laze_llvm_emitter *e, const LLVMValueRef *operands,
                                   const LLVMValueRef *state) {
  (void)operands;
  return above(e, state[TERMS], 0);
}

static void next_power(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                       LLVMValueRef *out) {
  LLVMValueRef term = laze_lower_pow(e, LAZE_F64, (const LLVMValueRef[]){state[BASE], operands[EXPONENT]});
  out[BASE] = plus_real(e, state[BASE], 1);
  out[TERMS] = plus_real(e, state[TERMS], -1);
  out[SUM] = plus(e, state[SUM], term);
}

LAZE_LOWERING(power_sum) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_power_sum, operands, 2);
  LLVMValueRef rest = minus(e, real(operands[0], 20), operands[0]), zero = real(operands[0], 0);
  LLVMValueRef count = at_least(e, laze_llvm_intrinsic(e, "llvm.ceil", &rest, 1), 20);
  LLVMValueRef few = below(e, count, MOST_STEPS + 1);
  LLVMValueRef state[] = {operands[0], choose(e, few, count, zero), zero};
  run(e, &(lane_loop){operands + 1, COUNT(state), are_terms_left, next_power}, state);
  return choose(e, few, state[SUM], real(operands[0], NAN));
}

/* Of the incomplete gamma functions: the order and the argument; the number of terms, the last and their sum, or
 * the level and what is below it. */
enum { ORDER, POINT };
enum { NUMBER, TERM, TOTAL };
enum { LEVEL, REST };

static LLVMValueRef is_term_next(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state) {
  (void)operands;
  LLVMValueRef least = times_real(e, state[TOTAL], 0x1p-53);
  LLVMValueRef counts = LLVMBuildFCmp(e->builder, LLVMRealOGT, state[TERM], least, "");
  return both(e, counts, below(e, state[NUMBER], MOST_GAMMA_TERMS));
}

static void next_term(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                      LLVMValueRef *out) {
  out[NUMBER] = plus_real(e, state[NUMBER], 1);
  out[TERM] = over(e, times(e, state[TERM], operands[POINT]), plus(e, operands[ORDER], out[NUMBER]));
  out[TOTAL] = plus(e, state[TOTAL], out[TERM]);
}

static LLVMValueRef start_of_fraction(const laze_llvm_emitter *e, const LLVMValueRef *operands) {
  return minus(e, plus_real(e, operands[POINT], 1), operands[ORDER]);
}

static LLVMValueRef is_level_left(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state) {
  (void)operands;
  return above(e, state[LEVEL], 0);
}

static void next_level(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                       LLVMValueRef *out) {
  LLVMValueRef k = state[LEVEL], odd = plus(e, start_of_fraction(e, operands), times_real(e, k, 2));
  out[LEVEL] = plus_real(e, k, -1);
  out[REST] = times(e, k, over(e, minus(e, operands[ORDER], k), plus(e, odd, state[REST])));
}

static LLVMValueRef is_at_least(const laze_llvm_emitter *e, LLVMValueRef upper, LLVMValueRef lower) {
  return LLVMBuildFCmp(e->builder, LLVMRealOGE, upper, lower, "");
}

/* Whether the order is a number that is not negative, and two numbers are in order, far apart where it is large. */
static LLVMValueRef fits(const laze_llvm_emitter *e, LLVMValueRef order, LLVMValueRef lower, LLVMValueRef upper) {
  LLVMValueRef far = LLVMBuildOr(e->builder, below(e, order, 64), is_at_least(e, upper, times_real(e, lower, 1.5)), "");
  return both(e, is_at_least(e, order, real(order, 0)), both(e, is_at_least(e, upper, lower), far));
}

LAZE_LOWERING(gamma_series) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_gamma_series, operands, 2);
  LLVMValueRef order = operands[ORDER], point = operands[POINT], zero = real(order, 0), one = real(order, 1);
  LLVMValueRef is_meant = both(e, is_at_least(e, point, zero), fits(e, order, point, at_least(e, order, 1)));
  LLVMValueRef state[] = {zero, choose(e, is_meant, one, zero), one};
  run(e, &(lane_loop){operands, COUNT(state), is_term_next, next_term}, state);
  return choose(e, is_meant, state[TOTAL], real(order, NAN));
}

LAZE_LOWERING(gamma_fraction) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_gamma_fraction, operands, 2);
  LLVMValueRef order = operands[ORDER], is_meant = fits(e, order, at_least(e, order, 1), operands[POINT]);
  LLVMValueRef state[] = {choose(e, is_meant, real(order, GAMMA_LEVELS), real(order, 0)), real(order, 0)};
  run(e, &(lane_loop){operands, COUNT(state), is_level_left, next_level}, state);
  LLVMValueRef whole = plus(e, start_of_fraction(e, operands), state[REST]);
  return choose(e, is_meant, over(e, real(order, 1), whole), real(order, NAN));
}
