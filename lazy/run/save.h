/* Saving graphs as they are compiled, for people: LAZE_SAVE_GRAPHS names a folder. */
#ifndef LAZE_LAZY_RUN_SAVE_H
#define LAZE_LAZY_RUN_SAVE_H

#include "base/hash.h"
#include "lazy/run/force.h"

typedef struct laze_graph laze_graph;
typedef struct laze_lazy laze_lazy;

/* Saves a graph in the forms that LAZE_SAVE_FORMS names, each a file of its own, with who forced it, and why no cached
 * graph served (`why`, a line). What cannot be written is said in a warning, and nothing else comes of it. Called
 * without the lock. */
void laze_save_graph(laze_lazy *lazy, const laze_graph *graph, laze_hash key, const laze_force *force, const char *why);

#endif
