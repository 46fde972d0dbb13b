/* What takes as many steps as its operands say: a loop over states, until no lane has a further step to take.
 *
 *        state                          a polynomial: k, p(k - 1), p(k)        a sum: x, the terms left, their sum
 *   .-> more(state)? --no lane--> done      k < degree?                            are there any?
 *   |   next(state), in the lanes           k + 1, p(k), p(k + 1)                  x + 1, one less, sum + x^y
 *   '----'   that go on
 *
 * Orthogonal polynomials climb by their three-term recurrences (DLMF 18.9.1). What incomplete gamma functions are made
 * of goes on until a term is too small to count, or a factor is 1.
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

enum { MOST_STATES = 4, MOST_STEPS = 65536, MOST_GAMMA_STEPS = 128 };

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

/* Of the incomplete gamma functions: the order and the argument; the steps taken, then a term and the sum, or a
 * fraction's numerator, denominator and product. */
enum { ORDER, POINT };
enum { STEPS, TERM, TOTAL };
enum { NUMERATOR = 1, DENOMINATOR, PRODUCT };

static LLVMValueRef are_steps_left(const laze_llvm_emitter *e, LLVMValueRef steps, LLVMValueRef more) {
  return both(e, more, below(e, steps, MOST_GAMMA_STEPS));
}

static LLVMValueRef does_term_count(const laze_llvm_emitter *e, const LLVMValueRef *state) {
  return LLVMBuildFCmp(e->builder, LLVMRealOGT, state[TERM], times_real(e, state[TOTAL], 0x1p-53), "");
}

static LLVMValueRef is_term_next(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state) {
  (void)operands;
  return are_steps_left(e, state[STEPS], does_term_count(e, state));
}

static void next_term(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                      LLVMValueRef *out) {
  out[STEPS] = plus_real(e, state[STEPS], 1);
  out[TERM] = over(e, times(e, state[TERM], operands[POINT]), plus(e, operands[ORDER], out[STEPS]));
  out[TOTAL] = plus(e, state[TOTAL], out[TERM]);
}

static LLVMValueRef is_factor_far(const laze_llvm_emitter *e, const LLVMValueRef *state) {
  LLVMValueRef factor = times(e, state[NUMERATOR], state[DENOMINATOR]);
  return above(e, magnitude(e, plus_real(e, factor, -1)), 0x1p-52);
}

static LLVMValueRef is_factor_next(const laze_llvm_emitter *e, const LLVMValueRef *operands,
                                   const LLVMValueRef *state) {
  (void)operands;
  return are_steps_left(e, state[STEPS], is_factor_far(e, state));
}

static void next_factor(const laze_llvm_emitter *e, const LLVMValueRef *operands, const LLVMValueRef *state,
                        LLVMValueRef *out) {
  LLVMValueRef k = plus_real(e, state[STEPS], 1);
  LLVMValueRef share = times(e, k, minus(e, operands[ORDER], k));
  LLVMValueRef start = minus(e, plus_real(e, operands[POINT], 1), operands[ORDER]);
  LLVMValueRef odd = plus(e, start, times_real(e, k, 2));
  out[STEPS] = k;
  out[DENOMINATOR] = over(e, real(k, 1), plus(e, times(e, share, state[DENOMINATOR]), odd));
  out[NUMERATOR] = plus(e, over(e, share, state[NUMERATOR]), odd);
  out[PRODUCT] = times(e, state[PRODUCT], times(e, out[NUMERATOR], out[DENOMINATOR]));
}

/* The greater of the order and 1, where both are numbers. */
static LLVMValueRef turn(const laze_llvm_emitter *e, const LLVMValueRef *operands) {
  return at_least(e, operands[ORDER], 1);
}

/* Near a large order the series and the fraction would take ever more steps. */
static LLVMValueRef is_far(const laze_llvm_emitter *e, LLVMValueRef order, LLVMValueRef lower, LLVMValueRef upper) {
  LLVMValueRef apart = LLVMBuildFCmp(e->builder, LLVMRealOLE, times_real(e, lower, 1.5), upper, "");
  return LLVMBuildOr(e->builder, below(e, order, 64), apart, "");
}

LAZE_LOWERING(gamma_series) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_gamma_series, operands, 2);
  LLVMValueRef zero = real(operands[0], 0), one = real(operands[0], 1);
  LLVMValueRef from_zero = LLVMBuildFCmp(e->builder, LLVMRealOGE, operands[POINT], zero, "");
  LLVMValueRef order_fits = LLVMBuildFCmp(e->builder, LLVMRealOGE, operands[ORDER], zero, "");
  LLVMValueRef to_turn = LLVMBuildFCmp(e->builder, LLVMRealOLE, operands[POINT], turn(e, operands), "");
  LLVMValueRef far = is_far(e, operands[ORDER], operands[POINT], operands[ORDER]);
  LLVMValueRef fits = both(e, both(e, from_zero, order_fits), both(e, to_turn, far));
  LLVMValueRef state[] = {zero, choose(e, fits, one, zero), one};
  run(e, &(lane_loop){operands, COUNT(state), is_term_next, next_term}, state);
  LLVMValueRef is_sum = LLVMBuildAnd(e->builder, fits, LLVMBuildNot(e->builder, does_term_count(e, state), ""), "");
  return choose(e, is_sum, state[TOTAL], real(operands[0], NAN));
}

LAZE_LOWERING(gamma_fraction) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_gamma_fraction, operands, 2);
  LLVMValueRef zero = real(operands[0], 0), one = real(operands[0], 1);
  LLVMValueRef order_fits = LLVMBuildFCmp(e->builder, LLVMRealOGE, operands[ORDER], zero, "");
  LLVMValueRef from_turn = LLVMBuildFCmp(e->builder, LLVMRealOGE, operands[POINT], turn(e, operands), "");
  LLVMValueRef far = is_far(e, operands[ORDER], operands[ORDER], operands[POINT]);
  LLVMValueRef fits = both(e, both(e, order_fits, from_turn), far);
  LLVMValueRef first = over(e, one, minus(e, plus_real(e, operands[POINT], 1), operands[ORDER]));
  /* Beyond, what comes behind the first rounds away, and 1/x soon has fewer digits. */
  LLVMValueRef goes_on = both(e, fits, below(e, operands[POINT], 0x1p1000));
  LLVMValueRef state[] = {zero, choose(e, goes_on, real(one, 0x1p1000), one), choose(e, goes_on, first, one), first};
  run(e, &(lane_loop){operands, COUNT(state), is_factor_next, next_factor}, state);
  LLVMValueRef is_product = both(e, fits, LLVMBuildNot(e->builder, is_factor_far(e, state), ""));
  return choose(e, is_product, state[PRODUCT], real(operands[0], NAN));
}
