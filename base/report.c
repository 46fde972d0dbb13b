/* What programs ask about metrics: one by name, all of them, a report of them as text, zeros again.
 *
 *   percentiles   buckets   ..  3  9  2  1      half of 15 samples lie in the first two: the median is at most the
 *                 at most   ..  7  8  9 10      second one's greatest number
 */
#include "base/context.h"
#include "base/counters.h"
#include "base/text.h"

#include <string.h>

static laze_context *or_default(laze_context *context) {
  return context ? context : laze_context_default();
}

static int64_t shown(laze_metrics *metrics, laze_metric metric) {
  return laze_metrics_get(metrics, metric) / (laze_metric_is_time(metric) ? 1000 : 1);
}

laze_status laze_metric_read(laze_context *context, const char *name, int64_t *value, laze_error *error) {
  context = or_default(context);
  if (!context) return laze_fail_memory(error, "the default context", -1);
  if (!value) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_metric_read: value is NULL");
  for (laze_metric metric = 0; name && metric < LAZE_METRIC_COUNT; metric++) {
    if (strcmp(laze_metric_name(metric), name) != 0) continue;
    *value = shown(laze_context_metrics(context), metric);
    return LAZE_OK;
  }
  if (name && laze_counters_read(laze_context_counters(context), name, value)) return LAZE_OK;
  return laze_fail(error, LAZE_NOT_FOUND, "no metric is called '%s'; laze_metric_each lists them", name ? name : "");
}

void laze_metric_each(laze_context *context, void (*visit)(void *self, const char *name, int64_t value), void *self) {
  context = or_default(context);
  for (laze_metric metric = 0; context && visit && metric < LAZE_METRIC_COUNT; metric++)
    visit(self, laze_metric_name(metric), shown(laze_context_metrics(context), metric));
  if (context && visit) laze_counters_each(laze_context_counters(context), visit, self);
}

/* The number that `percent` of the samples do not exceed, as buckets tell it. */
static int64_t percentile(const int64_t *buckets, const laze_samples *samples, int percent) {
  const int64_t wanted = samples->count / 100 * percent + (samples->count % 100 * percent + 99) / 100;
  int64_t passed = 0;
  for (int i = 0; i < LAZE_SAMPLE_BUCKETS; i++) {
    passed += buckets[i];
    if (passed < wanted) continue;
    const int64_t most = laze_sample_bucket_most(i);
    return most < samples->greatest ? most : samples->greatest;
  }
  return samples->greatest;
}

/* All numbers of one reading, while other threads may add. */
static laze_samples read_samples(laze_metrics *metrics, laze_sample sample) {
  laze_sample_spread *spread = &metrics->samples[sample];
  int64_t buckets[LAZE_SAMPLE_BUCKETS];
  laze_samples out = {.name = laze_sample_name(sample)};
  for (int i = 0; i < LAZE_SAMPLE_BUCKETS; i++) {
    buckets[i] = atomic_load_explicit(&spread->buckets[i], memory_order_relaxed);
    out.count += buckets[i];
  }
  out.total = atomic_load_explicit(&spread->total, memory_order_relaxed);
  out.greatest = atomic_load_explicit(&spread->greatest, memory_order_relaxed);
  out.p50 = percentile(buckets, &out, 50);
  out.p90 = percentile(buckets, &out, 90);
  out.p99 = percentile(buckets, &out, 99);
  return out;
}

laze_status laze_samples_read(laze_context *context, const char *name, laze_samples *out, laze_error *error) {
  context = or_default(context);
  if (!context) return laze_fail_memory(error, "the default context", -1);
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_samples_read: out is NULL");
  for (laze_sample sample = 0; name && sample < LAZE_SAMPLE_COUNT; sample++) {
    if (strcmp(laze_sample_name(sample), name) != 0) continue;
    *out = read_samples(laze_context_metrics(context), sample);
    return LAZE_OK;
  }
  return laze_fail(error, LAZE_NOT_FOUND, "no samples are called '%s'; laze_samples_each lists them", name ? name : "");
}

void laze_samples_each(laze_context *context, void (*visit)(void *self, const laze_samples *samples), void *self) {
  context = or_default(context);
  for (laze_sample sample = 0; context && visit && sample < LAZE_SAMPLE_COUNT; sample++) {
    const laze_samples samples = read_samples(laze_context_metrics(context), sample);
    visit(self, &samples);
  }
}

/* --- Reports --- */

static void text_metric(void *self, const char *name, int64_t value) {
  laze_text_format(self, "%s %lld\n", name, (long long)value);
}

/* What is said of samples, in this order. */
enum { SAMPLE_FACTS = 6 };
static void list_facts(const laze_samples *samples, const char *names[SAMPLE_FACTS], int64_t values[SAMPLE_FACTS]) {
  const char *const all[SAMPLE_FACTS] = {"count", "total", "p50", "p90", "p99", "greatest"};
  const int64_t numbers[SAMPLE_FACTS] = {samples->count, samples->total, samples->p50,
                                         samples->p90,   samples->p99,   samples->greatest};
  memcpy(names, all, sizeof all);
  memcpy(values, numbers, sizeof numbers);
}

static void text_samples(void *self, const laze_samples *samples) {
  const char *names[SAMPLE_FACTS];
  int64_t values[SAMPLE_FACTS];
  list_facts(samples, names, values);
  for (int i = 0; i < SAMPLE_FACTS; i++)
    laze_text_format(self, "%s_%s %lld\n", samples->name, names[i], (long long)values[i]);
}

static void json_metric(void *self, const char *name, int64_t value) {
  laze_text_format(self, "\"%s\": %lld, ", name, (long long)value);
}

static void json_samples(void *self, const laze_samples *samples) {
  const char *names[SAMPLE_FACTS];
  int64_t values[SAMPLE_FACTS];
  const bool first = samples->name == laze_sample_name(0);
  list_facts(samples, names, values);
  laze_text_format(self, "%s\"%s\": {", first ? "" : ", ", samples->name);
  for (int i = 0; i < SAMPLE_FACTS; i++)
    laze_text_format(self, "%s\"%s\": %lld", i > 0 ? ", " : "", names[i], (long long)values[i]);
  laze_text_append(self, "}");
}

laze_status laze_metric_report(laze_context *context, int32_t form, char *text, size_t size, size_t *needed,
                               laze_error *error) {
  context = or_default(context);
  if (needed) *needed = 0;
  if (size > 0 && text) *text = 0;
  if (!context) return laze_fail_memory(error, "the default context", -1);
  if (size > 0 && !text)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_metric_report: text is NULL, but size is %zu", size);
  if (form != LAZE_REPORT_TEXT && form != LAZE_REPORT_JSON)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_metric_report: form %d; expected LAZE_REPORT_TEXT or LAZE_REPORT_JSON", (int)form);
  const bool json = form == LAZE_REPORT_JSON;
  laze_text written;
  laze_text_init(&written, context);
  if (json) laze_text_append(&written, "{");
  laze_metric_each(context, json ? json_metric : text_metric, &written);
  if (json) laze_text_append(&written, "\"samples\": {");
  laze_samples_each(context, json ? json_samples : text_samples, &written);
  if (json) laze_text_append(&written, "}}\n");
  laze_status status = laze_text_give(&written, text, size, needed, error);
  laze_text_deinit(&written);
  return status;
}

static void reset_samples(laze_sample_spread *spread) {
  for (int i = 0; i < LAZE_SAMPLE_BUCKETS; i++) atomic_store_explicit(&spread->buckets[i], 0, memory_order_relaxed);
  atomic_store_explicit(&spread->total, 0, memory_order_relaxed);
  atomic_store_explicit(&spread->greatest, 0, memory_order_relaxed);
}

void laze_metric_reset(laze_context *context) {
  context = or_default(context);
  if (!context) return;
  laze_metrics *metrics = laze_context_metrics(context);
  for (laze_metric metric = 0; metric < LAZE_METRIC_COUNT; metric++) {
    if (laze_metric_is_level(metric)) continue;
    const bool peak = metric == LAZE_METRIC_PEAK_BYTES;
    atomic_store(&metrics->values[metric], peak ? laze_metrics_get(metrics, LAZE_METRIC_CURRENT_BYTES) : 0);
  }
  for (laze_sample sample = 0; sample < LAZE_SAMPLE_COUNT; sample++) reset_samples(&metrics->samples[sample]);
  laze_counters_reset(laze_context_counters(context));
}
