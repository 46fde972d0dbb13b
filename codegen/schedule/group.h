/* What the parts of the scheduler share: groups while they grow.
 *
 *   cluster.c      visits nodes backwards and decides where each value is computed
 *   group.c        instances, and the uses that wait for them
 *   fuse.c         whether a value is computed where it is used
 *   join.c         what a node needs of its operands at a given access map
 *   reduce.c       the same for reductions, whose axes join the domain
 *   scan.c         and for scans, whose axis is run through in turn
 *   cost.c         what computing a value again costs, against storing it
 *   kind.h         kinds of group: copy.c, matrix.c, fold.c, loops.c with pieces.c and update.c, control.c, fallback.c
 *   map.c          access maps; map_refine.c the same elements through another view; map_cover.c; digits.c
 *   emit.c         a finished group as loops (emit.h)
 *   bands.c        rows that groups hand on to each other
 *   returned.c     returned values that are written where they go
 *   arrange.c      the order of finished groups
 *   print.c        the schedule as text
 */
#ifndef LAZE_CODEGEN_SCHEDULE_GROUP_H
#define LAZE_CODEGEN_SCHEDULE_GROUP_H

#include "codegen/loop/loop.h"
#include "codegen/order.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/schedule.h"

/* Bounds on a group, so that code size and compile time stay proportional to the graph. The weight is that of its
 * instances, their guards, and what they still wait for. */
#define LAZE_GROUP_MAX_WEIGHT 224
#define LAZE_GROUP_MAX_READS 24
#define LAZE_GROUP_MAX_CAT 8
#define LAZE_MAX_OPERANDS 8

typedef enum {
  LAZE_INSTANCE_LOAD,     /* an element of a stored value */
  LAZE_INSTANCE_CONSTANT, /* an inline constant */
  LAZE_INSTANCE_ELEMENT,
  LAZE_INSTANCE_IOTA,    /* the component of the map along one axis */
  LAZE_INSTANCE_SIZE,    /* size_tensor: a run-time integer */
  LAZE_INSTANCE_CHECK,   /* operand 0: an index, checked against an axis */
  LAZE_INSTANCE_PASS,    /* operand 0's value (gather: the load; operand 1 is its check) */
  LAZE_INSTANCE_BITCAST, /* operand 0's bits */
  LAZE_INSTANCE_SELECT,  /* cat: operand i where guard i of the pieces holds */
  LAZE_INSTANCE_PAD,     /* operand 0 where the guards of piece 0 hold, else operand 1 */
  LAZE_INSTANCE_REDUCE,  /* operand 0 combined over the group's reduced axes */
  LAZE_INSTANCE_SCAN,    /* operand 0 combined over the group's one reduced axis up to where it stands */
  LAZE_INSTANCE_MATRIX,
} laze_instance_kind;

/* One evaluation of a value in a group, at one access map. */
typedef struct laze_instance {
  laze_instance_kind kind;
  laze_value value;
  const laze_map *map;
  int32_t operands[LAZE_MAX_OPERANDS]; /* instances; filled when the operands' nodes are visited */
  int32_t operand_count;
  laze_size size;            /* CHECK: of the axis; SIZE: the number */
  laze_size length;          /* CHECK: of what begins at the index and must lie in the axis; 0: of a single element */
  const laze_map *position;  /* CHECK: of the index among those of its operator; NULL otherwise */
  int32_t check;             /* CHECK: its number among the group's checks */
  int32_t store;             /* index among the group's writes, -1: not stored */
  const laze_map *place;     /* where it is stored among the elements of what is written; NULL: at `map` */
  const laze_guard **pieces; /* SELECT, PAD: where each operand holds (NULL: anywhere else); NULL otherwise */
  int32_t next_of_node;      /* another instance of the same node in its builder list, -1: none */
} laze_instance;

/* Where the elements of a piece lie in the concatenation: those of row r, of `rows`, from r * pitch + start on. */
typedef struct laze_piece {
  const struct laze_piece *outer; /* the piece of another concatenation that this one is; NULL: it is stored */
  laze_size rows, width, pitch, start;
  int depth; /* pieces around it */
} laze_piece;

typedef struct laze_group_builder {
  laze_group group;
  struct laze_group_builder *next; /* another group of the same root */
  const laze_piece *piece;         /* computes this piece of its root; NULL: all of it */
  laze_value *sources;             /* COPY: the stored value of each piece */
  laze_size *sizes;                /* COPY: the kernel's run-time integers */
  laze_domain domain;
  laze_instance *instances;
  int64_t instance_count, instance_capacity;
  bool has_no_place; /* it writes elements along an axis of which there may be none */
  laze_op combine;   /* what is stored is joined by this operator with what is there; LAZE_OP_NONE: it replaces that */
  bool has_reduction;
  laze_order order; /* of its reductions; `sequence`: they are scans */
  bool serial;      /* scans with nothing behind their axis: no axis lies in lanes */
  laze_value *writes;
  int64_t write_capacity;
  int64_t load_count;
  int64_t guard_count; /* of all instances */
  int64_t open_count;  /* different values at maps that instances wait for */
  int32_t *checked;    /* nodes, by number of the check */
  int64_t check_capacity;
  int32_t elements; /* ELEMENT, REDUCE and SCAN instances, for the estimate of operations */
} laze_group_builder;

/* A use of a node's result that waits until the node is visited: an operand slot of an instance, or, where `map` is
 * NULL, an operand of a fallback, which reads the whole value from memory; `flat`: a piece that is copied, so that
 * any value with the same elements in the same order will do. */
typedef struct laze_use {
  struct laze_use *next;
  laze_group_builder *group;
  const laze_map *map;
  int32_t instance, slot, result;
  bool counted; /* in the group's open_count */
  bool flat;
} laze_use;

typedef struct laze_scheduler {
  laze_graph *graph;
  laze_arena *arena;
  laze_error *error;
  const laze_schedule_options *options;
  laze_use **uses;                    /* by node */
  int32_t *returned;                  /* by node: 1 + the last of its results that is returned; 0: none is */
  int32_t *costs, *moved;             /* by node, cost.c */
  laze_group_builder **group_of_root; /* by node: the first of the groups in which it is stored; NULL otherwise */
  int64_t group_count;
  struct {
    laze_group_builder *group;
    int32_t first; /* its first instance of the node */
  } * latest;      /* by node: the last group that got an instance of it */
  int32_t *listed; /* by node: while a group's nodes are listed, 1 + its place among them; otherwise 0 */
} laze_scheduler;

/* What a node needs of its operands when evaluated at a map. `maps[i]` is for operand i. */
typedef struct laze_needs {
  laze_instance_kind kind;
  int32_t count;
  const laze_map *maps[LAZE_MAX_OPERANDS];
  bool pass_through; /* movement: the operand's value at maps[0] is the node's value; no instance */
  bool indexed;      /* gather, index_select, dynamic_slice: maps[0] has a dynamic part that stands for operand 1,
                        checked; maps[1] is where the index is among those that the operator got */
  laze_size size;    /* CHECK or SIZE */
  laze_size length;  /* CHECK */
  int32_t axis;      /* indexed: which component of maps[0] is dynamic */
  int32_t check;     /* indexed: the instance that checks it, once it is placed */
} laze_needs;

static inline laze_mapper laze_scheduler_mapper(laze_scheduler *scheduler, laze_group_builder *group) {
  return (laze_mapper){scheduler->arena, scheduler->graph->sizes, &group->domain, scheduler->error};
}

laze_status laze_scheduler_memory_error(const laze_scheduler *scheduler);

/* Finds what `node` needs at `map`. *possible is false where the group cannot express it. May split axes of the group's
 * domain; a reduction may add reduced axes to it. */
LAZE_MUST_USE laze_status laze_schedule_needs(laze_scheduler *scheduler, laze_group_builder *group,
                                              const laze_node *node, const laze_map *map, laze_needs *out,
                                              bool *possible);
LAZE_MUST_USE laze_status laze_schedule_reduction_needs(laze_scheduler *scheduler, laze_group_builder *group,
                                                        const laze_node *node, const laze_map *map, laze_needs *out,
                                                        bool *possible);
LAZE_MUST_USE laze_status laze_schedule_scan_needs(laze_scheduler *scheduler, laze_group_builder *group,
                                                   const laze_node *node, const laze_map *map, laze_needs *out,
                                                   bool *possible);
/* group.c */
/* A group that ends in `root`, empty and not yet among the others. */
LAZE_MUST_USE laze_status laze_schedule_create_group(laze_scheduler *scheduler, laze_group_kind kind, laze_value root,
                                                     laze_split split, laze_group_builder **out);
/* Puts it among them. */
void laze_schedule_add_group(laze_scheduler *scheduler, laze_group_builder *group);
/* Arrays of groups grow in the arena: what they leave behind is bounded by what they end up with. False: no memory. */
bool laze_schedule_grow(laze_scheduler *scheduler, void **array, int64_t *capacity, int64_t needed,
                        int64_t element_size);
LAZE_MUST_USE laze_status laze_schedule_add_instance(laze_scheduler *scheduler, laze_group_builder *group,
                                                     laze_instance_kind kind, laze_value value, const laze_map *map,
                                                     int32_t *out);
/* An instance of `value` in `group` at an equal map, or -1. */
LAZE_MUST_USE laze_status laze_schedule_find_instance(laze_scheduler *scheduler, laze_group_builder *group,
                                                      laze_value value, const laze_map *map, int32_t *out);
/* Starts a group of one node that reads its operands whole. */
LAZE_MUST_USE laze_status laze_schedule_store_node(laze_scheduler *scheduler, laze_group_kind kind, int32_t node_index,
                                                   laze_group_builder **out);
/* Finishes it: what it reads, and its label. */
LAZE_MUST_USE laze_status laze_schedule_emit_node(laze_scheduler *scheduler, laze_group_builder *group);
/* Registers that a slot of an instance (-1: a fallback) waits for `operand` at `map`. */
LAZE_MUST_USE laze_status laze_schedule_add_use(laze_scheduler *scheduler, laze_group_builder *group, int32_t instance,
                                                int32_t slot, laze_value operand, const laze_map *map);
/* The instance is what the use waits for. */
void laze_schedule_fill_use(const laze_use *use, int32_t instance);
/* A use that reads the whole value from memory. Fallbacks do so by number. */
void laze_schedule_read_whole(const laze_use *use, laze_value value);
/* Loads for the uses of a stored value. */
LAZE_MUST_USE laze_status laze_schedule_load_uses(laze_scheduler *scheduler, int32_t node);
LAZE_MUST_USE laze_status laze_schedule_add_write(laze_scheduler *scheduler, laze_group_builder *group,
                                                  int32_t instance);

/* cost.c */
/* Makes scheduler->costs and moved, which live in `arena`. */
LAZE_MUST_USE laze_status laze_schedule_prepare_costs(laze_scheduler *scheduler, laze_arena *arena);
/* Fills them for the nodes of a block, whose outputs are known. */
void laze_schedule_find_costs(laze_scheduler *scheduler, const laze_block *block);
/* Whether a node costs less than an inexact function to compute. */
bool laze_schedule_is_cheap(const laze_scheduler *scheduler, int32_t node_index);
/* What joining would mean for a node all of whose uses lie in one group: how many instances the group would hold or
 * wait for, and whether computing the node at each of its maps is dearer than storing it and loading it there. */
LAZE_MUST_USE laze_status laze_schedule_weigh(laze_scheduler *scheduler, int32_t node_index, int32_t *instances,
                                              bool *dear);

/* pieces.c */
/* Groups for the pieces of a concatenation that is stored. *possible is false where it needs a kernel of its own. */
LAZE_MUST_USE laze_status laze_schedule_store_pieces(laze_scheduler *scheduler, int32_t node_index, laze_split why,
                                                     bool *possible);
/* A concatenation whose only use is to be a piece of another: its pieces become pieces of that one. *done is false
 * where that is not so. */
LAZE_MUST_USE laze_status laze_schedule_flatten_pieces(laze_scheduler *scheduler, int32_t node_index, bool *done);

/* loops.c */
/* An instance that checks the index which `value`, a call that indexes, has at `map`: `index`, of `position` among its
 * indices. `needs` says size and length. */
LAZE_MUST_USE laze_status laze_schedule_add_check(laze_scheduler *scheduler, laze_group_builder *group,
                                                  laze_value value, const laze_map *map, const laze_needs *needs,
                                                  int32_t *out);

/* update.c */
/* A group that writes a slice of what was another value until then. *done is false where its loops have no room. */
LAZE_MUST_USE laze_status laze_schedule_store_update(laze_scheduler *scheduler, int32_t node_index, laze_split why,
                                                     bool *done);

/* scatter.c */
/* The same of elements, or slices, at places that an index names. */
LAZE_MUST_USE laze_status laze_schedule_store_scatter(laze_scheduler *scheduler, int32_t node_index, laze_split why,
                                                      bool *done);

/* copy.c */
/* Replaces the finished groups of a root's pieces by one that copies, where none of them does more than that. */
LAZE_MUST_USE laze_status laze_schedule_merge_copies(laze_scheduler *scheduler, laze_group_builder **groups);

/* emit.c */
/* Lowers a finished group to loop IR and fills the rest of its laze_group. */
LAZE_MUST_USE laze_status laze_group_emit_loops(laze_scheduler *scheduler, laze_group_builder *group);
/* emit_group.c */
/* Lists the root as the one node that the group computes. */
LAZE_MUST_USE laze_status laze_group_emit_root(laze_scheduler *scheduler, laze_group_builder *group);

/* The value that has the same elements in the same order, and is not a view of another. */
laze_value laze_schedule_behind_views(const laze_graph *graph, laze_value value);
/* Where a group would only copy what another one writes for it: makes that write what is returned, and sets *done. */
LAZE_MUST_USE laze_status laze_schedule_write_returned(laze_scheduler *scheduler, const laze_group_builder *group,
                                                       bool *done);

#endif
