/* Cutting a graph that grows: which pending values are stored when the budget is used up.
 *
 *   x (4 bytes) ── expand (1 GiB) ── add ── exp      stored: nothing, x is there already
 *   ... 90,000 operators ── y (400 bytes) ── expand  stored: y
 *
 * A cut is to store the held values and, for a budget of nodes, what was recorded last. From each of them the graph is
 * walked towards its inputs, and the cut is made where the values to keep, inputs passed on the way included, are
 * smallest (`choose`). So a value that is wide and made from little is recorded on and not stored.
 *
 * A budget of nodes bounds what has to be compiled at once, and so cuts in any case. A budget of bytes bounds memory,
 * and so cuts only where at least as many bytes are freed as are stored.
 */
#include "lazy/run/budget.h"

#include "base/dtype.h"
#include "lazy/lazy.h"
#include "lazy/run/materialise.h"
#include "lazy/thread.h"
#include "lazy/value/failure.h"
#include "lazy/value/pending.h"

enum { LOOK_BACK = 1024, NARROW_BYTES = 4096 };

static int64_t leaf_bytes(const laze_cell *cell) {
  return laze_cell_elements(cell) * laze_dtype_size(cell->dtype);
}

/* The pending values that are left to compute, as a walk from one node to its inputs meets them. */
typedef struct {
  laze_lazy *lazy;
  uint64_t waiting, done; /* marks of nodes */
  int64_t count;          /* of nodes that wait */
  int64_t bytes;          /* of their results, and of the inputs met */
} frontier;

static void add_node(frontier *front, laze_pending *node) {
  if (node->mark == front->waiting || node->mark == front->done) return;
  node->mark = front->waiting;
  front->count++;
  front->bytes += node->bytes;
}

static void begin(frontier *front, laze_lazy *lazy, laze_pending *node) {
  *front = (frontier){.lazy = lazy, .waiting = lazy->mark + 1, .done = lazy->mark + 2};
  lazy->mark += 2;
  add_node(front, node);
}

/* Puts the node's operands in its place. */
static void pass(frontier *front, laze_pending *node) {
  node->mark = front->done;
  front->count--;
  front->bytes -= node->bytes;
  for (int32_t i = 0; i < node->operand_count; i++) {
    laze_cell *cell = node->operands[i];
    if (laze_cell_is_pending(cell)) {
      add_node(front, cell->node);
    } else if (cell->mark != front->waiting) {
      cell->mark = front->waiting;
      front->bytes += leaf_bytes(cell);
    }
  }
}

/* The last node that a walk from `from` passes before it stands where there is least to keep; NULL: it stays. */
static laze_pending *narrowest(laze_lazy *lazy, laze_pending *from) {
  frontier front;
  laze_pending *best = NULL;
  begin(&front, lazy, from);
  int64_t fewest = front.bytes;
  int looked = 0;
  for (laze_pending *node = from; node && front.count > 0 && looked < LOOK_BACK; node = node->older, looked++) {
    if (node->mark != front.waiting) continue;
    pass(&front, node);
    if (front.bytes < fewest) fewest = front.bytes, best = node;
  }
  return best;
}

/* Selects a node for storing; returns the bytes that this adds, at least 1. */
static int64_t select_node(laze_pending *node, uint64_t selection) {
  if (node->selected == selection) return 0;
  node->selected = selection;
  return node->bytes > 0 ? node->bytes : 1;
}

/* Selects what is stored for `from`; returns its bytes. */
static int64_t choose(laze_lazy *lazy, laze_pending *from, uint64_t selection) {
  const laze_pending *last = from->bytes <= NARROW_BYTES ? NULL : narrowest(lazy, from);
  if (!last) return select_node(from, selection);
  frontier front;
  int64_t bytes = 0;
  begin(&front, lazy, from);
  bool passing = true;
  for (laze_pending *node = from; node && front.count > 0; node = node->older) {
    if (node->mark != front.waiting) continue;
    if (passing) {
      passing = node != last;
      pass(&front, node);
    } else {
      bytes += select_node(node, selection);
      front.count--;
    }
  }
  return bytes;
}

static bool is_held(const laze_pending *node) {
  for (int i = 0; i < node->result_count; i++) {
    const laze_cell *cell = &node->cells[i];
    if (cell->references > 0 && laze_cell_is_pending(cell) && laze_cell_is_held(cell)) return true;
  }
  return false;
}

/* Selects what is stored for the thread's held values and for `newest` (NULL: nothing); returns its bytes. */
static int64_t select_all(laze_thread_state *thread, laze_pending *newest, uint64_t selection) {
  laze_lazy *lazy = thread->lazy;
  int64_t bytes = newest ? choose(lazy, newest, selection) : 0;
  for (laze_pending *node = lazy->newest; node; node = node->older)
    if (node->thread == thread && node->selected != selection && is_held(node)) bytes += choose(lazy, node, selection);
  return bytes;
}

/* Counting what would be freed: a cell's `number` says how many of its references would go. */

static bool stays(const laze_pending *node, uint64_t selection, uint64_t mark) {
  if (node->selected == selection) return false;
  for (int i = 0; i < node->result_count; i++) {
    const laze_cell *cell = &node->cells[i];
    int32_t gone = cell->mark == mark ? cell->number : 0;
    if (cell->references > gone && laze_cell_is_pending(cell)) return true;
  }
  return false;
}

/* Bytes of inputs that nothing refers to any more once the selected nodes are stored. */
static int64_t count_freed(laze_lazy *lazy, uint64_t selection) {
  uint64_t mark = ++lazy->mark;
  int64_t bytes = 0;
  for (laze_pending *node = lazy->newest; node; node = node->older) { /* users before operands */
    if (stays(node, selection, mark)) continue;
    for (int32_t i = 0; i < node->operand_count; i++) {
      laze_cell *cell = node->operands[i];
      if (cell->mark != mark) cell->number = 0;
      cell->mark = mark;
      if (++cell->number == cell->references && cell->state == LAZE_CELL_BUFFER) bytes += leaf_bytes(cell);
    }
  }
  return bytes;
}

/* `at` is the call that used the budget up. */
static void run_cut(laze_thread_state *thread, uint64_t selection, laze_location at) {
  laze_lazy *lazy = thread->lazy;
  int64_t nodes = thread->backlog.nodes, bytes = thread->backlog.bytes;
  laze_error error;
  laze_metrics_add(laze_context_metrics(lazy->context), LAZE_METRIC_BUDGET_CUTS, 1);
  const laze_force force = {LAZE_FORCE_BUDGET, "laze_set_budget", at.file, at.line};
  if (laze_materialise_selected(thread, selection, false, &force, &error) != LAZE_OK) {
    laze_failure *failure = laze_failure_create(lazy, &error);
    laze_scope_note(thread, failure);
    laze_failure_release(lazy, failure);
  }
  laze_lazy_unlock(lazy);
  laze_log_advice(
      lazy->context, LAZE_ADVICE_BUDGET,
      "a graph of %lld pending nodes (results of %lld bytes) exceeds the budget and is run early; read or end a "
      "step more often, or raise the budget with laze_set_budget",
      (long long)nodes, (long long)bytes);
  pthread_mutex_lock(&lazy->lock);
}

void laze_budget_cut(laze_thread_state *thread, laze_pending *newest) {
  laze_lazy *lazy = thread->lazy;
  laze_backlog *backlog = &thread->backlog;
  bool too_many = laze_backlog_exceeds_nodes(backlog, &lazy->budget);
  /* After a cut that would not have paid, the next is thought of when twice as much is pending. */
  bool too_large = laze_backlog_exceeds_bytes(backlog, &lazy->budget) && backlog->bytes / 2 >= backlog->unpaid_bytes;
  if (!too_many && !too_large) return;
  uint64_t selection = ++lazy->mark;
  int64_t stored = select_all(thread, too_many ? newest : NULL, selection);
  bool pays = stored > 0 && count_freed(lazy, selection) >= stored;
  backlog->unpaid_bytes = pays ? 0 : backlog->bytes;
  if (stored > 0 && (too_many || pays)) run_cut(thread, selection, newest->location);
  if (!too_many && !pays) return;
  backlog->cut_nodes = backlog->nodes;
  backlog->cut_bytes = backlog->bytes;
}
