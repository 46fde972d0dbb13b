/* What the files that lower a group share.
 *
 *   emit.c        loops, stages, stores
 *   emit_tiles.c  loops in tiles
 *   emit_park.c   a value that waits where the result goes
 *   emit_order.c  in which order instances are computed, and at which depth and stage
 *   emit_value.c  the instructions of one instance
 *   emit_group.c  buffers, run-time integers, estimates, label
 */
#ifndef LAZE_CODEGEN_SCHEDULE_EMIT_H
#define LAZE_CODEGEN_SCHEDULE_EMIT_H

#include "codegen/schedule/map.h"

struct laze_scheduler;
struct laze_group_builder;
struct laze_instance;
struct laze_loop_kernel;

/* Run-time integers of a kernel under construction: one number for each distinct expression. */
typedef struct laze_size_numbers {
  laze_size *items;
  int64_t count, capacity;
} laze_size_numbers;
/* The value of `size` in the kernel: an INDEX_CONSTANT where it is one, else an INDEX_SIZE. */
int32_t laze_group_emit_size(struct laze_scheduler *scheduler, struct laze_loop_kernel *kernel,
                             laze_size_numbers *numbers, laze_size size);
/* Adds the values that the group's loads read as buffers, in order of first use, then its writes. */
LAZE_MUST_USE laze_status laze_group_emit_buffers(struct laze_scheduler *scheduler, struct laze_group_builder *group,
                                                  const int32_t *order, int32_t count, int32_t *buffer_of_instance);

/* The offset of a load or store while loops open around it. */
typedef struct laze_access_state {
  laze_offset offset;
  int32_t base;    /* its value with the kept axes opened so far */
  int32_t partial; /* with the reduced axes as well */
} laze_access_state;

typedef struct laze_loop_emitter {
  struct laze_scheduler *scheduler;
  struct laze_group_builder *group;
  struct laze_loop_kernel *kernel;
  laze_size_numbers numbers;
  int32_t kept[LAZE_MAX_AXES], reduced[LAZE_MAX_AXES]; /* axes, outermost first */
  int32_t kept_count, reduced_count;
  int32_t induction[LAZE_MAX_AXES]; /* by axis */
  int32_t open_count;               /* loops that are open, but for reduced axes */
  bool range_around;                /* the range loop is around the kept axes, and of none of them, but in tiles of the
                                       outermost of more than two */
  bool joined;                      /* the range loop is of both kept axes, which are outside of what lies in lanes */
  int64_t block;                    /* it goes through blocks of so many of the innermost axis; 0: of no axis */
  int32_t block_start;              /* the first of the block at hand */
  bool tiled;                       /* the two innermost axes are gone through in tiles (emit_tiles.c) */
  laze_size tiles[2];               /* how many there are along each, the innermost first */
  int32_t tile_start[2];            /* the first of the tile at hand */
  int32_t *order;                   /* instances, operands first */
  int32_t count;
  int32_t *value, *depth, *stage, *buffer; /* by instance */
  int32_t *state;                          /* by instance: the accumulator of a scan */
  int32_t run;                             /* induction variable of the innermost reduced loop opened last */
  bool *needed;                            /* by instance: in the loops being emitted */
  laze_access_state *loads, *stores;       /* by instance */
  int32_t stage_count;
  int32_t parked;    /* the instance that waits where another one is stored; -1: none does */
  int32_t parked_at; /* that one */
  bool is_parked;    /* it is there */
  laze_error *error;
} laze_loop_emitter;

struct laze_instance *laze_group_instance_at(const laze_loop_emitter *emitter, int32_t index);
/* Whether an instance has an element offset of its own: a load, a checked position, a number along an axis. */
bool laze_instance_has_access(const struct laze_instance *instance);
/* The `which`-th instance that must be computed before this one, -1 past the last. */
int32_t laze_instance_dependency(const struct laze_instance *instance, int32_t which);
/* Fills order, depth, stage and the offsets of every instance. */
LAZE_MUST_USE laze_status laze_group_emit_prepare(laze_loop_emitter *emitter);

/* Decides whether loops go in tiles, and puts the axis that is read along next to the innermost. */
LAZE_MUST_USE laze_status laze_group_find_tiles(laze_loop_emitter *emitter);
/* What threads share then: tiles, of each element of the outermost of more than two axes. */
LAZE_MUST_USE laze_status laze_group_count_tiles(laze_loop_emitter *emitter, laze_size *domain);
/* Finds the tile of an index of these; gives the index along that outermost axis. */
int32_t laze_group_open_tiles(laze_loop_emitter *emitter, int32_t index);
/* How much of an axis's extent lies in it; 0: of the innermost axis, 1: of the next. */
int32_t laze_group_tile_extent(laze_loop_emitter *emitter, int32_t extent, int32_t which);

/* Marks what the marked instances need inside the reduced loops. */
void laze_group_mark_needed(laze_loop_emitter *emitter);
/* Decides whether a value waits where the result goes. */
LAZE_MUST_USE laze_status laze_group_find_parked(laze_loop_emitter *emitter);
/* Stores it there, where it was just computed, and loads it again. */
void laze_group_park(laze_loop_emitter *emitter);
void laze_group_load_parked(laze_loop_emitter *emitter);

/* `value` plus an axis's induction variable times its coefficient, for every access that depends on it. */
void laze_group_emit_step(laze_loop_emitter *emitter, int32_t axis);
/* The instructions of an instance; not of reductions, which the loops around them make. */
void laze_group_emit_instance(laze_loop_emitter *emitter, int32_t index);
/* The dtype of a reduction's or scan's states. */
laze_dtype laze_group_state(const laze_loop_emitter *emitter, const struct laze_instance *instance);
/* A value converted to a dtype where it has another. */
int32_t laze_group_emit_converted(laze_loop_emitter *emitter, int32_t value, laze_dtype dtype);
/* Where an access lies: what the loops around it add up to, and the indices read from memory. */
int32_t laze_group_emit_access(laze_loop_emitter *emitter, const laze_access_state *access);
/* An index value, or the constant 0 for -1. */
int32_t laze_group_emit_value_or_zero(laze_loop_emitter *emitter, int32_t value);
/* laze_group_emit_size with the emitter's own numbers. */
int32_t laze_group_emit_own_size(laze_loop_emitter *emitter, laze_size size);

/* Estimates and label of a finished group. */
LAZE_MUST_USE laze_status laze_group_emit_summary(laze_loop_emitter *emitter);

#endif
