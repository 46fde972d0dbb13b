/* Runs laze's side of the comparison with other libraries. peers.py starts one such process for each library and asks
 * them in turns; a line on standard input is one request, a line on standard output its answer:
 *
 *   check CASE FILE          writes results as f32 to FILE                            ok
 *   time CASE COUNT FIRST    does CASE COUNT times; FIRST is the first size of `sizes`   seconds of one time
 *
 * Cases: chain, functions (the chain with exp and tanh), adds, digits (a step), sizes (a step at each of 20 sizes), and
 * on a million elements sort, topk, cumsum, scatter.
 */
#include "bench/measure.h"
#include "bench/workloads.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 128
#define SIZES 20
#define CHECKED_STEPS 5
#define CHECKED_STRIDE 4097 /* of a chain's elements, every so many are compared */

typedef struct bench_peer {
  laze_tensor *x, *y;             /* operands of the chains */
  laze_tensor *small_x, *small_y; /* operands of the adds */
  laze_tensor *million, *places;  /* operands of sort and so on */
  digits_network network;
  float *result; /* WORKLOAD_CHAIN_ELEMENTS */
} bench_peer;

typedef laze_tensor *(*peer_function)(laze_tensor *x, laze_tensor *y);

static laze_status peer_init(bench_peer *out, laze_error *error) {
  *out = (bench_peer){.result = malloc(WORKLOAD_CHAIN_ELEMENTS * sizeof *out->result)};
  laze_scope *scope = laze_scope_begin(NULL);
  out->x = workload_tensor(NULL, LAZE_SHAPE(WORKLOAD_CHAIN_ELEMENTS), 0);
  out->y = workload_tensor(NULL, LAZE_SHAPE(WORKLOAD_CHAIN_ELEMENTS), 12345);
  out->small_x = workload_tensor(NULL, LAZE_SHAPE(WORKLOAD_ADD_ELEMENTS), 0);
  out->small_y = workload_tensor(NULL, LAZE_SHAPE(WORKLOAD_ADD_ELEMENTS), 1000);
  out->million = workload_tensor(NULL, LAZE_SHAPE(WORKLOAD_PLACES), 777);
  out->places = workload_places(NULL);
  laze_status status = laze_scope_end_error(scope, error);
  if (status == LAZE_OK) status = workload_network(&out->network, NULL, error);
  return out->result == NULL ? LAZE_OUT_OF_MEMORY : status;
}

static void peer_deinit(bench_peer *peer) {
  laze_tensor_release(peer->x);
  laze_tensor_release(peer->y);
  laze_tensor_release(peer->small_x);
  laze_tensor_release(peer->small_y);
  laze_tensor_release(peer->million);
  laze_tensor_release(peer->places);
  digits_network_deinit(&peer->network);
  free(peer->result);
}

/* A chain is computed and dropped; with `read`, its elements are read too. */
static laze_status run_chain(bench_peer *peer, peer_function chain, float *read, laze_error *error) {
  laze_scope *scope = laze_scope_begin(NULL);
  laze_tensor *result = chain(peer->x, peer->y);
  (void)laze_tensor_materialise(result); /* the scope reports a failure */
  if (read != NULL) (void)laze_tensor_read(result, LAZE_F32, read, WORKLOAD_CHAIN_ELEMENTS * sizeof *read);
  return laze_scope_end_error(scope, error);
}

static laze_status run_adds(bench_peer *peer, float *read, laze_error *error) {
  laze_scope *scope = laze_scope_begin(NULL);
  laze_tensor *result = workload_adds(peer->small_x, peer->small_y);
  (void)laze_tensor_read(result, LAZE_F32, read, WORKLOAD_ADD_ELEMENTS * sizeof *read);
  return laze_scope_end_error(scope, error);
}

static laze_tensor *sorted(bench_peer *peer) {
  laze_tensor *results[2];
  laze_sort(peer->million, -1, false, results);
  return results[0];
}

static laze_tensor *largest(bench_peer *peer) {
  laze_tensor *results[2];
  laze_topk(peer->million, WORKLOAD_TOP, -1, true, true, results);
  return results[0];
}

static laze_tensor *summed(bench_peer *peer) {
  return laze_cumsum(peer->million, 0);
}

static laze_tensor *scattered(bench_peer *peer) {
  return laze_scatter(laze_zeros_like(peer->million), 0, peer->places, peer->million);
}

static const struct {
  const char *name;
  laze_tensor *(*run)(bench_peer *peer);
} of_a_million[] = {{"sort", sorted}, {"topk", largest}, {"cumsum", summed}, {"scatter", scattered}};
enum { OF_A_MILLION = sizeof of_a_million / sizeof *of_a_million };

/* The number of one of these cases, or OF_A_MILLION. */
static int find_of_a_million(const char *name) {
  int i = 0;
  while (i < OF_A_MILLION && strcmp(of_a_million[i].name, name) != 0) i++;
  return i;
}

/* With `count`, elements are read as well, and there are so many. */
static laze_status run_of_a_million(bench_peer *peer, int number, int64_t *count, laze_error *error) {
  laze_scope *scope = laze_scope_begin(NULL);
  laze_tensor *result = of_a_million[number].run(peer);
  (void)laze_tensor_materialise(result); /* the scope reports a failure */
  if (count != NULL) {
    *count = laze_tensor_elements(result);
    (void)laze_tensor_read(result, LAZE_F32, peer->result, (size_t)*count * sizeof(float));
  }
  return laze_scope_end_error(scope, error);
}

static laze_status run_case(bench_peer *peer, const char *name, int64_t first, laze_error *error) {
  float small[WORKLOAD_ADD_ELEMENTS];
  if (strcmp(name, "chain") == 0) return run_chain(peer, workload_chain, NULL, error);
  if (strcmp(name, "functions") == 0) return run_chain(peer, workload_chain_functions, NULL, error);
  if (strcmp(name, "adds") == 0) return run_adds(peer, small, error);
  if (strcmp(name, "digits") == 0) return workload_digits_step(&peer->network, BATCH, error);
  const int million = find_of_a_million(name);
  if (million < OF_A_MILLION) return run_of_a_million(peer, million, NULL, error);
  laze_status status = LAZE_OK;
  for (int64_t size = first; size < first + SIZES && status == LAZE_OK; size++)
    status = workload_digits_step(&peer->network, size, error);
  return status;
}

/* Some steps of a fresh network; writes its parameters to peer->result and their number to *count. */
static laze_status check_digits(bench_peer *peer, int64_t *count, laze_error *error) {
  digits_network network;
  laze_status status = workload_network(&network, NULL, error);
  if (status != LAZE_OK) return status;
  for (int i = 0; i < CHECKED_STEPS && status == LAZE_OK; i++) status = workload_digits_step(&network, BATCH, error);
  laze_scope *scope = laze_scope_begin(NULL);
  *count = 0;
  for (int i = 0; i < DIGITS_PARAMETERS && status == LAZE_OK; i++) {
    const int64_t elements = laze_tensor_elements(network.parameters[i]);
    status = laze_tensor_read(network.parameters[i], LAZE_F32, peer->result + *count, (size_t)elements * sizeof(float));
    *count += elements;
  }
  digits_network_deinit(&network);
  const laze_status ended = laze_scope_end_error(scope, error);
  return status == LAZE_OK ? ended : status;
}

static laze_status check(bench_peer *peer, const char *name, int64_t *count, laze_error *error) {
  *count = WORKLOAD_ADD_ELEMENTS;
  if (strcmp(name, "adds") == 0) return run_adds(peer, peer->result, error);
  if (strcmp(name, "digits") == 0) return check_digits(peer, count, error);
  const int million = find_of_a_million(name);
  int64_t elements = WORKLOAD_CHAIN_ELEMENTS;
  const laze_status status =
      million < OF_A_MILLION ? run_of_a_million(peer, million, &elements, error)
                             : run_chain(peer, strcmp(name, "chain") == 0 ? workload_chain : workload_chain_functions,
                                         peer->result, error);
  const int64_t stride = elements > CHECKED_STRIDE ? CHECKED_STRIDE : 1;
  *count = 0;
  for (int64_t i = 0; i < elements; i += stride) peer->result[(*count)++] = peer->result[i];
  return status;
}

static laze_status answer_check(bench_peer *peer, const char *name, const char *path, laze_error *error) {
  int64_t count;
  const laze_status status = check(peer, name, &count, error);
  if (status != LAZE_OK) return status;
  FILE *file = fopen(path, "wb");
  const int written = file != NULL && fwrite(peer->result, sizeof(float), (size_t)count, file) == (size_t)count;
  if (file != NULL && fclose(file) == 0 && written) {
    printf("ok\n");
    return LAZE_OK;
  }
  snprintf(error->message, sizeof error->message, "cannot write %s", path);
  return LAZE_IO_ERROR;
}

static laze_status answer_time(bench_peer *peer, const char *name, int count, int64_t first, laze_error *error) {
  laze_status status = LAZE_OK;
  const double start = measure_now();
  for (int i = 0; i < count && status == LAZE_OK; i++) status = run_case(peer, name, first, error);
  if (status == LAZE_OK) printf("%.9g\n", (measure_now() - start) / count);
  return status;
}

int main(void) {
  static bench_peer peer;
  laze_error error = {0};
  char line[1024], name[16], path[1000];
  laze_status status = peer_init(&peer, &error);
  while (status == LAZE_OK && fgets(line, sizeof line, stdin) != NULL) {
    int count;
    long long first;
    if (sscanf(line, "check %15s %999s", name, path) == 2)
      status = answer_check(&peer, name, path, &error);
    else if (sscanf(line, "time %15s %d %lld", name, &count, &first) == 3)
      status = answer_time(&peer, name, count, first, &error);
    fflush(stdout);
  }
  if (status != LAZE_OK) fprintf(stderr, "peer: %s\n", error.message);
  peer_deinit(&peer);
  return status != LAZE_OK;
}
