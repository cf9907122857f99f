//go:build cgo && linux && !norocksdb

#include "cursor.h"

#include <stdlib.h>
#include <string.h>

#include "kept.h"
#include "../native/key.h"

enum {
  // A step over an unwanted cell costs about a twelfth of a seek. Before a seek these many
  // steps are tried, or FEW_STEPS after they were not enough, but all of them PROBE_EVERY
  // times.
  SKIP_STEPS = 16,
  FEW_STEPS = 2,
  PROBE_EVERY = 16,
  // A call returns after a number of cells. Each seek counts as this many of them.
  CELLS_PER_SEEK = 8,
  // A scan prefetches the memory that it will read and write this many bytes ahead.
  READ_AHEAD = 2 << 10,
  WRITE_AHEAD = 1 << 10,
  // The engine stops after this many keys in a row that are deleted or invisible, so that
  // the caller can check whether the scan is still wanted.
  MOST_SKIPPED = 4096,
  // A kept cursor keeps up to this many bytes for bounds.
  KEPT_COPY = 16 << 10
};

typedef struct {
  const char* data;
  size_t len;
} slice;

// A half-open interval of encoded bytes.
typedef struct {
  slice start, end;
} interval;

// A condition on one column of a row.
typedef struct {
  interval qualifier;
  const interval* values;
  size_t values_len;
} condition;

// Growing memory for the prefix of the current row and column.
typedef struct {
  char* data;
  size_t len, cap;
} buffer;

struct smolwc_cursor {
  rocksdb_iterator_t* it;
  rocksdb_readoptions_t* options;
  smolwc_scan scan;
  buffer copy;  // the memory of the next five fields
  interval* ranges;
  const interval* qualifiers;
  const interval* values;
  const smolwc_retention* retention;
  const condition* conditions;
  smolwc_cost cost;

  size_t range;     // index of the current range in ranges
  uint32_t far_row, far_column;  // see advance_to_target
  uint8_t started;  // the iterator is at the range's start or after it, and did not stop
  uint8_t stopped;  // the engine stopped, and goes on at the key in resume
  uint8_t aimed;    // the iterator came to no key on its way to target
  uint8_t left;     // see smolwc_cursor_leave
  uint8_t deciding; // the iterator is in the column of a condition; see decide
  uint8_t done;
  uint8_t backward;  // the iterator moves through a range from its end
  size_t last;       // index of the last range to read
  char* cut;         // the bound that smolwc_cursor_cut set, or NULL
  uint8_t row_open;  // the current row is in a block
  uint8_t column_full;   // no more versions of the current column are wanted
  uint8_t witness;       // the current column is not wanted, but may show that there is a row
  uint8_t every_cell;    // all cells of a row are wanted: columns are not tracked
  int64_t row_cells, row_columns; // of the current row: cells and columns that passed
  int64_t rows;      // rows put into blocks

  // The element of the current row, then the element of the current column.
  // row_len 0: no row; column_len 0: no column.
  buffer prefix;
  size_t row_len, column_len;
  size_t qualifier;      // index into qualifiers
  size_t judged;         // number of conditions that the current row is known to satisfy
  int64_t rank, passed;  // of the current column: cells seen, cells passed
  int64_t ranks;         // retention does not distinguish greater ranks
  buffer target;         // scratch for seeks
  buffer resume;
  uint64_t sequence;     // of a kept cursor: its iterator sees at least this sequence number
};

static int reserve(buffer* b, size_t n) {
  if (n <= b->cap) return 1;
  size_t cap = n < 256 ? 256 : n * 2;
  char* data = realloc(b->data, cap);
  if (data == NULL) return 0;
  b->data = data;
  b->cap = cap;
  return 1;
}

static int set(buffer* b, const char* data, size_t len) {
  if (!reserve(b, len)) return 0;
  memcpy(b->data, data, len);
  b->len = len;
  return 1;
}

static int compare(const char* a, size_t a_len, const char* b, size_t b_len) {
  int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
  if (order != 0) return order;
  return (a_len > b_len) - (a_len < b_len);
}

// --- construction

static size_t count_intervals(const smolwc_scan* s, const smolwc_condition* conditions) {
  size_t n = s->rows_len + s->qualifiers_len + s->values_len;
  for (size_t i = 0; i < s->conditions_len; i++) n += 1 + conditions[i].values_len;
  return n;
}

// One allocation holds the conditions, the retention, the intervals and their
// bytes.
static int copy_scan(smolwc_cursor* c, const smolwc_scan* s, const char* bounds,
                     const uint32_t* ends, const smolwc_retention* retention,
                     const smolwc_condition* conditions) {
  size_t intervals = count_intervals(s, conditions);
  size_t bytes_len = intervals == 0 ? 0 : ends[2 * intervals - 1];
  size_t retention_size = s->retention_len * sizeof *retention;
  size_t conditions_size = s->conditions_len * sizeof *c->conditions;
  if (!reserve(&c->copy, conditions_size + retention_size + intervals * sizeof(interval) + bytes_len + 1))
    return 0;
  condition* w = (condition*)c->copy.data;
  smolwc_retention* r = (smolwc_retention*)(w + s->conditions_len);
  interval* at = (interval*)(r + s->retention_len);
  char* bytes = (char*)(at + intervals);
  if (retention_size != 0) memcpy(r, retention, retention_size);
  if (bytes_len != 0) memcpy(bytes, bounds, bytes_len);
  uint32_t from = 0;
  for (size_t i = 0; i < intervals; i++) {
    uint32_t middle = ends[2 * i], to = ends[2 * i + 1];
    at[i] = (interval){{bytes + from, middle - from}, {bytes + middle, to - middle}};
    from = to;
  }
  c->scan = *s;
  c->retention = r;
  c->ranges = at;
  c->qualifiers = at + s->rows_len;
  c->values = c->qualifiers + s->qualifiers_len;
  c->conditions = w;
  at += s->rows_len + s->qualifiers_len + s->values_len;
  for (size_t i = 0; i < s->conditions_len; i++) {
    w[i] = (condition){*at, at + 1, conditions[i].values_len};
    at += 1 + conditions[i].values_len;
  }
  return 1;
}

static void set_read_options(smolwc_cursor* c, const rocksdb_snapshot_t* snapshot) {
  const smolwc_scan* s = &c->scan;
  rocksdb_readoptions_set_snapshot(c->options, snapshot);
  rocksdb_readoptions_set_max_skippable_internal_keys(c->options, MOST_SKIPPED);
  if (s->single_rows) {
    rocksdb_readoptions_set_prefix_same_as_start(c->options, 1);
    return;
  }
  rocksdb_readoptions_set_total_order_seek(c->options, 1);
  if (s->fetch != 0) rocksdb_readoptions_set_readahead_size(c->options, s->fetch);
  // The engine compares every key with each bound, so a bound without effect is not set.
  const slice low = c->ranges[0].start, high = c->ranges[s->rows_len - 1].end;
  if (low.len > 1 && c->backward) rocksdb_readoptions_set_iterate_lower_bound(c->options, low.data, low.len);
  if (high.len > 1) rocksdb_readoptions_set_iterate_upper_bound(c->options, high.data, high.len);
}

// Sets a cursor to the start of a scan. All fields of the cursor but its memory must be
// zero.
static int start_scan(smolwc_cursor* c, const smolwc_scan* scan, const char* bounds,
                      const uint32_t* ends, const smolwc_retention* retention,
                      const smolwc_condition* conditions) {
  if (!copy_scan(c, scan, bounds, ends, retention, conditions)) return 0;
  if (scan->rows_len == 0) {
    c->done = 1;
    return 1;
  }
  c->last = scan->rows_len - 1;
  if (scan->reverse) {
    c->range = c->last;
    c->last = 0;
  }
  // A range of one row is always read forward.
  c->backward = scan->reverse && !scan->single_rows;
  c->every_cell = scan->qualifiers_len == 0 && scan->retention_len == 0 && scan->since == 0 &&
                  scan->until == 0 && scan->versions == 0 && scan->cells_per_row == 0 &&
                  scan->columns_per_row == 0 && !scan->keys_only && scan->conditions_len == 0;
  for (size_t i = 0; i < scan->retention_len; i++)
    if (retention[i].versions > c->ranks) c->ranks = retention[i].versions;
  return 1;
}

smolwc_cursor* smolwc_cursor_new(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                                 const rocksdb_snapshot_t* snapshot,
                                 rocksdb_writebatch_wi_t* overlay, const smolwc_scan* scan,
                                 const char* bounds, const uint32_t* ends,
                                 const smolwc_retention* retention,
                                 const smolwc_condition* conditions) {
  smolwc_cursor* c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  if (!start_scan(c, scan, bounds, ends, retention, conditions)) {
    smolwc_cursor_free(c);
    return NULL;
  }
  if (c->done) return c;
  c->options = rocksdb_readoptions_create();
  set_read_options(c, snapshot);
  c->it = rocksdb_create_iterator_cf(db, c->options, family);
  if (overlay != NULL) {
    smolwc_iterator_below(c->it, &c->left);
    c->it = rocksdb_writebatch_wi_create_iterator_with_base_cf(overlay, c->it, family);
  }
  return c;
}

void smolwc_cursor_free(smolwc_cursor* c) {
  if (c->it != NULL) rocksdb_iter_destroy(c->it);
  if (c->options != NULL) rocksdb_readoptions_destroy(c->options);
  free(c->cut);
  free(c->prefix.data);
  free(c->target.data);
  free(c->resume.data);
  free(c->copy.data);
  free(c);
}

const char* smolwc_cursor_key(smolwc_cursor* c, size_t* len) {
  if (c->stopped) {
    *len = c->resume.len;
    return c->resume.data;
  }
  *len = 0;
  if (c->it == NULL || !rocksdb_iter_valid(c->it)) return NULL;
  return rocksdb_iter_key(c->it, len);
}

void smolwc_cursor_leave(smolwc_cursor* c, int left) { __atomic_store_n(&c->left, (uint8_t)left, __ATOMIC_RELAXED); }

size_t smolwc_cursor_range(const smolwc_cursor* c) { return c->range; }

char* smolwc_cursor_error(smolwc_cursor* c) {
  char* err = NULL;
  if (c->it != NULL) rocksdb_iter_get_error(c->it, &err);
  return err;
}

static int failed(smolwc_cursor* c) {
  char* err = smolwc_cursor_error(c);
  rocksdb_free(err);
  return err != NULL;
}

static void forget_row(smolwc_cursor* c) {
  c->row_len = c->column_len = 0;
  c->row_open = 0;
}

int smolwc_cursor_cut(smolwc_cursor* c, const char* bound, size_t len) {
  if (c->done) return 1;
  free(c->cut);
  c->cut = malloc(len + 1);
  if (c->cut == NULL) return 0;
  memcpy(c->cut, bound, len);
  // If the current row lies beyond the cut and is not in a block, the scan that reads there
  // reads it again, and everything before the cut is done. Any other current row stays with
  // this scan, since some of its cells may have been skipped.
  if (c->row_len != 0 && !c->row_open &&
      (compare(c->prefix.data, c->row_len, bound, len) < 0) == (c->scan.reverse != 0)) {
    forget_row(c);
    c->done = 1;
    return 1;
  }
  const slice at = {c->cut, len};
  for (size_t i = c->range;; i += c->scan.reverse ? (size_t)-1 : 1) {
    interval* r = &c->ranges[i];
    int starts_before = compare(r->start.data, r->start.len, bound, len) < 0;
    int ends_behind = compare(r->end.data, r->end.len, bound, len) > 0;
    if (c->scan.reverse ? !ends_behind : !starts_before) { // beyond the cut
      c->done = i == c->range;
      return 1;
    }
    c->last = i;
    if (starts_before && ends_behind) {
      *(c->scan.reverse ? &r->start : &r->end) = at;
      return 1;
    }
    if (i == (c->scan.reverse ? 0 : c->scan.rows_len - 1)) return 1;
  }
}

void smolwc_cursor_cost(const smolwc_cursor* c, smolwc_cost* cost) { *cost = c->cost; }

// --- moving

static void seek(smolwc_cursor* c, const char* key, size_t len) {
  c->cost.seeks++;
  rocksdb_iter_seek(c->it, key, len);
}

// Gets the key at the iterator; returns 0 when the iterator is at no key.
static inline int look(const smolwc_cursor* c, const char** key, size_t* len) {
  if (!rocksdb_iter_valid(c->it)) return 0;
  *key = rocksdb_iter_key(c->it, len);
  return 1;
}

static inline int in_row(const smolwc_cursor* c, const char* key, size_t len) {
  return len > c->row_len && key[c->row_len] == SMOLWC_TAG_BYTES &&
         smolwc_same(key, c->prefix.data, c->row_len);
}

// Whether a key of the current row belongs to the current column.
static inline int in_column(const smolwc_cursor* c, const char* key, size_t len) {
  return len == c->column_len + SMOLWC_VERSION_LEN && key[c->column_len] == SMOLWC_TAG_VERSION &&
         smolwc_same(key + c->row_len, c->prefix.data + c->row_len, c->column_len - c->row_len);
}

// Whether a key outside of the current row is damaged: it starts with the row's prefix,
// but not because its row key continues with 00.
static int beside_row(const smolwc_cursor* c, const char* key, size_t len) {
  return len >= c->row_len && memcmp(key, c->prefix.data, c->row_len) == 0 &&
         (len == c->row_len || (unsigned char)key[c->row_len] != SMOLWC_ESCAPE);
}

// Moves to the first key that is not less than target. It first tries some steps, in
// case that key is near: few after they were not enough, but sometimes all, to notice that
// keys are near again. far counts for targets of one kind how often they were far since one
// was near. target must not lie before the iterator.
static void advance_to_target(smolwc_cursor* c, uint32_t* far) {
  const char* key;
  size_t len;
  int steps = SKIP_STEPS;
  const int past_row = far == &c->far_row; // the row's prefix is shorter to compare
  if (*far && ++*far % PROBE_EVERY != 0) steps = FEW_STEPS;
  for (int i = 0; i <= steps; i++) {
    if (!look(c, &key, &len)) {
      c->aimed = 1;
      return;
    }
    if (past_row ? !in_row(c, key, len) : compare(key, len, c->target.data, c->target.len) >= 0) {
      if (i > FEW_STEPS) *far = 0;
      return;
    }
    if (i == steps) break;
    c->cost.cells_scanned++;
    c->cost.bytes_scanned += len;
    rocksdb_iter_next(c->it);
  }
  if (*far == 0) *far = 1;
  seek(c, c->target.data, c->target.len);
}

// Sets target to the first prefix_len bytes of the current prefix and a suffix.
static int aim(smolwc_cursor* c, size_t prefix_len, const char* suffix, size_t suffix_len) {
  if (!reserve(&c->target, prefix_len + suffix_len)) return 0;
  memcpy(c->target.data, c->prefix.data, prefix_len);
  memcpy(c->target.data + prefix_len, suffix, suffix_len);
  c->target.len = prefix_len + suffix_len;
  return 1;
}

// Goes on where the engine stopped.
static void resume(smolwc_cursor* c) {
  c->stopped = 0;
  if (c->backward && c->row_len == 0) {  // within a row it reads forward
    c->cost.seeks++;
    rocksdb_iter_seek_for_prev(c->it, c->resume.data, c->resume.len);
  } else {
    seek(c, c->resume.data, c->resume.len);
  }
}

// Moves to the start of the current range in the iterator's direction; in a range of
// one row, to the first wanted column.
static int start_range(smolwc_cursor* c) {
  const interval* r = &c->ranges[c->range];
  if (c->backward) {
    c->cost.seeks++;
    rocksdb_iter_seek_for_prev(c->it, r->end.data, r->end.len);
    return 1;
  }
  if (!c->scan.single_rows || c->scan.qualifiers_len == 0 || c->scan.every_row) {
    seek(c, r->start.data, r->start.len);
    return 1;
  }
  const slice column = c->qualifiers[0].start;
  if (!reserve(&c->target, r->start.len + column.len)) return 0;
  memcpy(c->target.data, r->start.data, r->start.len);
  memcpy(c->target.data + r->start.len, column.data, column.len);
  seek(c, c->target.data, r->start.len + column.len);
  return 1;
}

static void next_range(smolwc_cursor* c) {
  c->started = 0;
  forget_row(c);
  if (c->range == c->last) {
    c->done = 1;
    return;
  }
  c->range += c->scan.reverse ? (size_t)-1 : 1;
}

// Whether a key lies in the current range, in the iterator's direction.
static int in_range(const smolwc_cursor* c, const char* key, size_t len) {
  const interval* r = &c->ranges[c->range];
  if (c->backward) return compare(key, len, r->start.data, r->start.len) >= 0;
  return compare(key, len, r->end.data, r->end.len) < 0;
}

// Ends the current row. The iterator moves past it when it reads forward, and to the
// last cell of the row before it when it reads backward.
static int leave_row(smolwc_cursor* c) {
  const char behind = SMOLWC_TAG_BYTES + 1;
  if (c->scan.single_rows) {
    next_range(c);
    return 1;
  }
  if (c->backward) {
    c->cost.seeks++;
    rocksdb_iter_seek_for_prev(c->it, c->prefix.data, c->row_len);
  } else {
    if (!aim(c, c->row_len, &behind, 1)) return 0;
    advance_to_target(c, &c->far_row);
  }
  forget_row(c);
  return 1;
}

// Whether no later column than the current one is wanted.
static int is_last_column(const smolwc_cursor* c) {
  const smolwc_scan* s = &c->scan;
  if (s->every_row && !c->row_open) return 0; // any column may show that there is a row
  if (s->columns_per_row != 0 && c->row_columns >= s->columns_per_row) return 1;
  if (s->qualifiers_len == 0 || c->qualifier + 1 != s->qualifiers_len) return 0;
  // The next possible qualifier is this one and a zero: the element and ff.
  const slice end = c->qualifiers[c->qualifier].end;
  const char* element = c->prefix.data + c->row_len;
  size_t len = c->column_len - c->row_len;
  int order = memcmp(end.data, element, end.len < len ? end.len : len);
  if (order != 0) return order < 0;
  return end.len <= len || (end.len == len + 1 && (unsigned char)end.data[len] == SMOLWC_ESCAPE);
}

// Moves to the newest version of the current column that is older than until.
static int skip_newer(smolwc_cursor* c) {
  char version[SMOLWC_VERSION_LEN];
  smolwc_put_version(version, c->scan.until - 1);
  if (!aim(c, c->column_len, version, sizeof version)) return 0;
  advance_to_target(c, &c->far_column);
  return 1;
}

// --- the loop

typedef enum { STEP_ON = 0, STEP_FULL, STEP_GROW, STEP_STOP, STEP_CORRUPT, STEP_ERROR } step;

// Forgets the current row.
static void start_row(smolwc_cursor* c) {
  c->column_len = 0;
  c->witness = 0;
  c->row_open = 0;
  c->row_cells = c->row_columns = 0;
  c->qualifier = 0;
  c->judged = 0;
}

// Makes the row of a key the current row.
static step enter_row(smolwc_cursor* c, const char* key, size_t len) {
  size_t row_len = smolwc_element_len(key, len);
  if (row_len == 0 || row_len == len || key[row_len] != SMOLWC_TAG_BYTES) return STEP_CORRUPT;
  if (!set(&c->prefix, key, row_len)) return STEP_ERROR;
  c->row_len = row_len;
  start_row(c);
  c->cost.rows_scanned++;
  return STEP_ON;
}

// The element of a qualifier in a key.
typedef struct {
  const char* data;
  size_t len;
  int plain;  // no byte of the qualifier is escaped
} element;

// Reads the qualifier of a key of the current row; returns 0 without one. The version
// after it is of fixed length, so the length of the element is known. Most elements have no
// zero but the terminator.
static inline int read_qualifier(const smolwc_cursor* c, const char* key, size_t len, element* e) {
  if (len < c->row_len + 2 + SMOLWC_VERSION_LEN) return 0;
  e->data = key + c->row_len;
  e->len = len - c->row_len - SMOLWC_VERSION_LEN;
  e->plain = e->data[0] == SMOLWC_TAG_BYTES && smolwc_zero(e->data, e->len) == e->len - 1;
  return e->plain || smolwc_element_len(e->data, len - c->row_len) == e->len;
}

// Makes the column of a key of the current row the current column.
static step enter_column(smolwc_cursor* c, const char* key, size_t len) {
  element e;
  if (!read_qualifier(c, key, len, &e)) return STEP_CORRUPT;
  c->prefix.len = c->row_len;
  if (!reserve(&c->prefix, c->row_len + e.len)) return STEP_ERROR;
  smolwc_copy(c->prefix.data + c->row_len, e.data, e.len);
  c->prefix.len = c->column_len = c->row_len + e.len;
  c->rank = c->passed = 0;
  c->column_full = 0;
  return STEP_ON;
}

typedef enum { WANTED, UNWANTED_COLUMN, UNWANTED_ROW } verdict;

// Whether the qualifier of a key of the current row is wanted. If only the column is
// unwanted, c->qualifier is the next wanted interval.
static verdict judge_qualifier(smolwc_cursor* c, const char* key, size_t len) {
  const char* suffix = key + c->row_len;
  size_t suffix_len = len - c->row_len;
  const interval* q = c->qualifiers;
  const size_t n = c->scan.qualifiers_len;
  size_t low = c->qualifier, high = low;  // the next one is mostly near
  for (size_t ahead = 1; high < n && compare(suffix, suffix_len, q[high].end.data, q[high].end.len) >= 0; ahead *= 2) {
    low = high + 1;
    high += ahead;
  }
  if (high > n) high = n;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (compare(suffix, suffix_len, q[mid].end.data, q[mid].end.len) < 0) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  c->qualifier = low;
  if (low == n) return UNWANTED_ROW;
  return compare(suffix, suffix_len, q[low].start.data, q[low].start.len) >= 0 ? WANTED : UNWANTED_COLUMN;
}

static inline int retained(const smolwc_cursor* c, int64_t rank, int64_t ts) {
  for (size_t i = 0; i < c->scan.retention_len; i++)
    if (rank > c->retention[i].versions && ts <= c->retention[i].up_to) return 0;
  return 1;
}

// A block that is being filled.
typedef struct {
  char* data;
  smolwc_row* rows;
  smolwc_cell* cells;
  smolwc_block filled;
} output;

// Puts the current row into the block, if there is room.
static step open_row(smolwc_cursor* c, output* b, int continued) {
  if (b->filled.rows_len == b->filled.rows_cap) return STEP_FULL;
  if (b->filled.data_cap - b->filled.data_len < c->row_len) {
    b->filled.need = c->row_len;
    return b->filled.rows_len == 0 ? STEP_GROW : STEP_FULL;
  }
  smolwc_row* r = &b->rows[b->filled.rows_len];
  r->key = (uint32_t)b->filled.data_len;
  r->key_len = (uint32_t)smolwc_unescape(c->prefix.data, c->row_len, b->data + b->filled.data_len);
  r->first = (uint32_t)b->filled.cells_len;
  r->len = 0;
  b->filled.data_len += r->key_len;
  b->filled.rows_len++;
  if (continued) {
    b->filled.continued = 1;
  } else {
    c->row_open = 1;
    c->rows++;
  }
  return STEP_ON;
}

static step ensure_row(smolwc_cursor* c, output* b) {
  if (!c->row_open) return open_row(c, b, 0);
  if (b->filled.rows_len == 0) return open_row(c, b, 1);
  return STEP_ON;
}

// Whether a value comes before a bound. Most values differ from it in the first byte,
// the type.
static inline int value_before(const char* value, size_t len, slice bound) {
  if (len != 0 && bound.len != 0 && value[0] != bound.data[0])
    return (unsigned char)value[0] < (unsigned char)bound.data[0];
  return compare(value, len, bound.data, bound.len) < 0;
}

// Whether a value is in one of the intervals, which are sorted and disjoint.
static int value_in(const interval* values, size_t n, const char* value, size_t len) {
  size_t low = 0, high = n;  // the first interval that begins after the value is in [low, high]
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    const slice start = values[mid].start;
    if (start.len != 0 && value_before(value, len, start)) {
      high = mid;
    } else {
      low = mid + 1;
    }
  }
  if (low == 0) return 0;
  const slice end = values[low - 1].end;
  return end.len == 0 || value_before(value, len, end);
}

static inline int value_wanted(const smolwc_cursor* c, const char* value, size_t len) {
  return c->scan.values_len == 0 || value_in(c->values, c->scan.values_len, value, len);
}

// Counts a cell in the block's row.
static inline step count(smolwc_cursor* c, output* b) {
  step s = ensure_row(c, b);
  if (s != STEP_ON) return s;
  b->rows[b->filled.rows_len - 1].len++;
  c->cost.counted++;
  return STEP_ON;
}

// Prefetches memory for later cells, to read and to write, two cache lines for each
// cell. The processor itself prefetches only within a page of memory.
static inline void fetch_ahead(const char* value, const char* at) {
  enum { LINE = 64 };
  __builtin_prefetch(value + READ_AHEAD);
  __builtin_prefetch(value + READ_AHEAD + LINE);
  __builtin_prefetch(at + WRITE_AHEAD, 1);
  __builtin_prefetch(at + WRITE_AHEAD + LINE, 1);
}

// Puts the current cell into the block, or only its row if the value is not wanted.
// Adds the size of the value to *scanned.
static inline step emit(smolwc_cursor* c, output* b, const element* e, int64_t ts,
                        size_t* scanned) {
  if (c->scan.count_only) return count(c, b);
  size_t value_len = 0;
  const char* value = c->scan.strip_values ? "" : rocksdb_iter_value(c->it, &value_len);
  if (!value_wanted(c, value, value_len)) {
    *scanned += value_len;
    return ensure_row(c, b);
  }
  size_t need = e->len + value_len;
  if (!c->row_open || b->filled.rows_len == 0) need += c->row_len;
  if (b->filled.cells_len == b->filled.cells_cap) return STEP_FULL;
  if (b->filled.data_cap - b->filled.data_len < need) {
    b->filled.need = need;
    return b->filled.cells_len == 0 && b->filled.rows_len == 0 ? STEP_GROW : STEP_FULL;
  }
  step s = ensure_row(c, b);
  if (s != STEP_ON) return s;

  smolwc_cell* cell = &b->cells[b->filled.cells_len];
  char* at = b->data + b->filled.data_len;
  size_t qualifier_len = e->len - 2;
  if (e->plain) {
    smolwc_copy(at, e->data + 1, qualifier_len);
  } else {
    qualifier_len = smolwc_unescape(e->data, e->len, at);
  }
  if (!c->scan.single_rows) fetch_ahead(value, at);
  memcpy(at + qualifier_len, value, value_len);
  cell->timestamp = ts;
  cell->offset = (uint32_t)b->filled.data_len;
  cell->qualifier_len = (uint32_t)qualifier_len;
  cell->value_len = (uint32_t)value_len;
  b->filled.data_len += qualifier_len + value_len;
  b->filled.cells_len++;
  b->rows[b->filled.rows_len - 1].len++;
  *scanned += value_len;
  return STEP_ON;
}

// Reads the version at the end of a key; 0 when there is no version.
static inline int read_version(const char* key, size_t len, int64_t* ts) {
  const char* version = key + len - SMOLWC_VERSION_LEN;
  if (!smolwc_is_version(version)) return 0;
  *ts = smolwc_timestamp(version);
  return 1;
}

// Handles a cell when every cell of a row is wanted.
static inline step take_any_cell(smolwc_cursor* c, output* b, const char* key, size_t len) {
  element e;
  int64_t ts;
  if (!read_qualifier(c, key, len, &e) || !read_version(key, len, &ts)) return STEP_CORRUPT;
  size_t scanned = len;
  step s = emit(c, b, &e, ts, &scanned);
  if (s != STEP_ON) return s;
  c->cost.cells_scanned++;
  c->cost.bytes_scanned += scanned;
  rocksdb_iter_next(c->it);
  return STEP_ON;
}

// Puts further cells of the current row into the block. The row is already in the block. A
// plain scan spends its time in this loop, so the loop counts in registers.
static step copy_cells(smolwc_cursor* c, output* b) {
  smolwc_cell* const first = b->cells + b->filled.cells_len;
  smolwc_cell* const cells_end = b->cells + b->filled.cells_cap;
  char* const data_end = b->data + b->filled.data_cap;
  smolwc_cell* cell = first;
  char* at = b->data + b->filled.data_len;
  uint64_t scanned = 0;
  const int on = !c->scan.single_rows;
  step s = STEP_ON;
  const char* key;
  size_t len;
  while (cell - first < c->scan.cells_per_call && look(c, &key, &len) && in_row(c, key, len)) {
    element e;
    int64_t ts;
    if (!read_qualifier(c, key, len, &e) || !read_version(key, len, &ts)) {
      s = STEP_CORRUPT;
      break;
    }
    size_t value_len;
    const char* value = rocksdb_iter_value(c->it, &value_len);
    if (cell == cells_end || (size_t)(data_end - at) < e.len + value_len) {
      s = STEP_FULL;
      break;
    }
    cell->timestamp = ts;
    cell->offset = (uint32_t)(at - b->data);
    size_t qualifier_len = e.len - 2;
    if (e.plain) {
      smolwc_copy(at, e.data + 1, qualifier_len);
    } else {
      qualifier_len = smolwc_unescape(e.data, e.len, at);
    }
    if (on) fetch_ahead(value, at);
    memcpy(at + qualifier_len, value, value_len);
    cell->qualifier_len = (uint32_t)qualifier_len;
    cell->value_len = (uint32_t)value_len;
    cell++;
    at += qualifier_len + value_len;
    scanned += len + value_len;
    rocksdb_iter_next(c->it);
  }
  size_t n = (size_t)(cell - first);
  b->filled.cells_len += n;
  b->filled.data_len = (size_t)(at - b->data);
  b->rows[b->filled.rows_len - 1].len += (uint32_t)n;
  c->cost.cells_scanned += n;
  c->cost.bytes_scanned += scanned;
  return s;
}

// Counts further cells of the current row. The row is already in the block.
static step count_cells(smolwc_cursor* c, output* b) {
  uint32_t n = 0, most = (uint32_t)c->scan.cells_per_call;
  uint64_t scanned = 0;
  step s = STEP_ON;
  const char* key;
  size_t len;
  while (n < most && look(c, &key, &len) && in_row(c, key, len)) {
    element e;
    int64_t ts;
    if (!read_qualifier(c, key, len, &e) || !read_version(key, len, &ts)) {
      s = STEP_CORRUPT;
      break;
    }
    n++;
    scanned += len;
    rocksdb_iter_next(c->it);
  }
  b->rows[b->filled.rows_len - 1].len += n;
  c->cost.counted += n;
  c->cost.cells_scanned += n;
  c->cost.bytes_scanned += scanned;
  return s;
}

// Steps over further cells of the current row while their values are not wanted.
static step pass_values(smolwc_cursor* c) {
  int64_t n = 0;
  uint64_t scanned = 0;
  step s = STEP_ON;
  const char* key;
  size_t len;
  while (n < c->scan.cells_per_call && look(c, &key, &len) && in_row(c, key, len)) {
    int64_t ts;
    if (len < c->row_len + 2 + SMOLWC_VERSION_LEN || !read_version(key, len, &ts)) {
      s = STEP_CORRUPT;
      break;
    }
    size_t value_len;
    const char* value = rocksdb_iter_value(c->it, &value_len);
    if (value_wanted(c, value, value_len)) break;
    n++;
    scanned += len + value_len;
    rocksdb_iter_next(c->it);
  }
  c->cost.cells_scanned += (uint64_t)n;
  c->cost.bytes_scanned += scanned;
  return s;
}

static step take_all_cells(smolwc_cursor* c, output* b, const char* key, size_t len) {
  step s = take_any_cell(c, b, key, len);
  if (s != STEP_ON || c->scan.strip_values) return s;
  if (c->scan.values_len != 0) return pass_values(c);
  return c->scan.count_only ? count_cells(c, b) : copy_cells(c, b);
}

// --- conditions on rows

static int is_undecided(const smolwc_cursor* c) { return c->judged < c->scan.conditions_len; }

static int satisfies(const condition* w, const char* value, size_t len) {
  return value_in(w->values, w->values_len, value, len);
}

// Judges the conditions up to the column of a key of the current row. The key is the
// newest cell of its column, and earlier columns with conditions do not exist. Returns
// whether the row may still be wanted.
static int judge_cell(smolwc_cursor* c, const char* key, size_t len) {
  const char* suffix = key + c->row_len;
  size_t suffix_len = len - c->row_len;
  for (; is_undecided(c); c->judged++) {
    const condition* w = &c->conditions[c->judged];
    if (compare(suffix, suffix_len, w->qualifier.start.data, w->qualifier.start.len) < 0) return 1;
    if (compare(suffix, suffix_len, w->qualifier.end.data, w->qualifier.end.len) >= 0) {
      if (w->values_len != 0) return 0;
      continue;
    }
    size_t value_len;
    const char* value = rocksdb_iter_value(c->it, &value_len);
    if (!satisfies(w, value, value_len)) return 0;
  }
  return 1;
}

// Whether a row without further cells satisfies the conditions.
static int judge_rest(smolwc_cursor* c) {
  for (; is_undecided(c); c->judged++)
    if (c->conditions[c->judged].values_len != 0) return 0;
  return 1;
}

// Removes the current row from the block. The row is only in this block: a row does not
// continue in another block before its conditions are decided.
static void take_back_row(smolwc_cursor* c, output* b) {
  if (!c->row_open) return;
  const smolwc_row* r = &b->rows[b->filled.rows_len - 1];
  if (c->scan.count_only) c->cost.counted -= r->len;
  b->filled.data_len = r->key;
  b->filled.cells_len = r->first;
  b->filled.rows_len--;
  c->rows--;
  c->row_open = 0;
}

// Removes the current row, whose cells are all read, from the block if it does not satisfy
// the conditions.
static void settle_row(smolwc_cursor* c, output* b) {
  if (c->row_len == 0 || judge_rest(c)) return;
  take_back_row(c, b);
  c->judged = c->scan.conditions_len;
}

// Ends the current row; no further cell of it is wanted.
static step end_row(smolwc_cursor* c, output* b) {
  settle_row(c, b);
  return leave_row(c) ? STEP_ON : STEP_ERROR;
}

static step reject_row(smolwc_cursor* c, output* b) {
  take_back_row(c, b);
  return leave_row(c) ? STEP_ON : STEP_ERROR;
}

// Whether the scan's qualifiers include the column of a condition.
static int column_selected(const smolwc_cursor* c, const condition* w) {
  const slice start = w->qualifier.start;
  for (size_t i = 0; i < c->scan.qualifiers_len; i++) {
    const interval* q = &c->qualifiers[i];
    if (compare(start.data, start.len, q->start.data, q->start.len) >= 0 &&
        compare(start.data, start.len, q->end.data, q->end.len) < 0)
      return 1;
  }
  return c->scan.qualifiers_len == 0;
}

// Handles an error of the iterator. It is none if the engine only stopped, after MOST_SKIPPED
// keys.
static step take_error(smolwc_cursor* c) {
  size_t len;
  char* key = smolwc_iterator_stopped(c->it, &len);
  if (key == NULL) return STEP_ERROR;
  const buffer* t = &c->target;
  const int aims_behind = c->aimed && compare(key, len, t->data, t->len) < 0;
  const int kept = aims_behind ? set(&c->resume, t->data, t->len) : set(&c->resume, key, len);
  free(key);
  if (!kept) return STEP_ERROR;
  c->aimed = c->started = 0;
  c->stopped = 1;
  return STEP_STOP;
}

// Looks up the columns of the conditions of the current row, and moves to the row's first
// cell, or past the row if it is not wanted.
static step decide(smolwc_cursor* c, output* b) {
  for (; is_undecided(c); c->judged++) {
    const condition* w = &c->conditions[c->judged];
    const slice start = w->qualifier.start, end = w->qualifier.end;
    // The newest cell that passes the rest of the filter.
    const char* key;
    size_t len;
    int found = 0;
    int64_t ts = 0;
    if (column_selected(c, w)) {
      if (!c->deciding) {
        if (!aim(c, c->row_len, start.data, start.len)) return STEP_ERROR;
        seek(c, c->target.data, c->target.len);
        c->deciding = 1;
        c->rank = 0;
      }
      int there;
      while ((there = look(c, &key, &len)) && in_row(c, key, len)) {
        if (compare(key + c->row_len, len - c->row_len, end.data, end.len) >= 0) break;
        if (!read_version(key, len, &ts)) return STEP_CORRUPT;
        if (!retained(c, ++c->rank, ts) || ts < c->scan.since) break;
        found = c->scan.until == 0 || ts < c->scan.until;
        if (found) break;
        rocksdb_iter_next(c->it);
      }
      if (!there && failed(c)) return take_error(c);
      c->deciding = 0;
    }
    size_t value_len = 0;
    const char* value = found ? rocksdb_iter_value(c->it, &value_len) : NULL;
    if (found ? !satisfies(w, value, value_len) : w->values_len != 0) return reject_row(c, b);
  }
  seek(c, c->prefix.data, c->row_len);
  return STEP_ON;
}

// Decides whether a row is wanted that did not fit into the block, or in which the engine
// stopped.
static step decide_row(smolwc_cursor* c, output* b) {
  take_back_row(c, b);
  start_row(c);
  return decide(c, b);
}

// Moves past the current column.
static step skip_column(smolwc_cursor* c, output* b) {
  const char behind = SMOLWC_TAG_VERSION + 1;
  if (is_last_column(c)) return end_row(c, b);
  if (!aim(c, c->column_len, &behind, 1)) return STEP_ERROR;
  c->column_len = 0;
  advance_to_target(c, &c->far_column);
  return STEP_ON;
}

static int row_is_complete(const smolwc_cursor* c) {
  return (c->scan.keys_only && !is_undecided(c)) ||
         (c->scan.cells_per_row != 0 && c->row_cells >= c->scan.cells_per_row);
}

// Takes a row because of a cell that is not wanted, and moves to the next wanted column.
static step take_witness(smolwc_cursor* c, output* b, size_t len) {
  step s = ensure_row(c, b);
  if (s != STEP_ON) return s;
  c->cost.cells_scanned++;
  c->cost.bytes_scanned += len;
  c->witness = 0;
  if (c->qualifier == c->scan.qualifiers_len || row_is_complete(c)) return end_row(c, b);
  c->column_full = 1;
  rocksdb_iter_next(c->it);
  return STEP_ON;
}

// Handles a cell of the current column and moves to the next.
static step take_cell(smolwc_cursor* c, output* b, const char* key, size_t len) {
  const smolwc_scan* s = &c->scan;
  int64_t ts;
  if (!read_version(key, len, &ts)) return STEP_CORRUPT;
  if (!retained(c, c->rank + 1, ts) || ts < s->since)
    return skip_column(c, b);

  size_t scanned = len;
  if (s->until != 0 && ts >= s->until) {
    if (c->rank >= c->ranks) return skip_newer(c) ? STEP_ON : STEP_ERROR;
  } else {
    if (c->witness) return take_witness(c, b, len);
    element e;
    if (!read_qualifier(c, key, len, &e)) return STEP_CORRUPT;
    if (c->passed == 0 && is_undecided(c) && !judge_cell(c, key, len)) return reject_row(c, b);
    step taken = s->keys_only ? ensure_row(c, b) : emit(c, b, &e, ts, &scanned);
    if (taken == STEP_FULL && c->row_open && is_undecided(c)) return decide_row(c, b);
    if (taken != STEP_ON) return taken;
    if (c->passed++ == 0) c->row_columns++;
    c->row_cells++;
  }
  c->rank++;
  c->cost.cells_scanned++;
  c->cost.bytes_scanned += scanned;
  if (row_is_complete(c) && c->row_open) return end_row(c, b);
  c->column_full = s->versions != 0 && c->passed >= s->versions;
  if (c->column_full && is_last_column(c)) return end_row(c, b);
  rocksdb_iter_next(c->it);
  return STEP_ON;
}

// Handles the first cell of a column of the current row.
static step take_column(smolwc_cursor* c, output* b, const char* key, size_t len) {
  if (c->every_cell) return take_all_cells(c, b, key, len);
  if (c->scan.columns_per_row != 0 && c->row_columns >= c->scan.columns_per_row)
    return end_row(c, b);
  if (c->scan.qualifiers_len != 0) {
    verdict v = judge_qualifier(c, key, len);
    c->witness = v != WANTED && c->scan.every_row && !c->row_open;
    if (!c->witness) switch (v) {
      case UNWANTED_ROW:
        return end_row(c, b);
      case UNWANTED_COLUMN: {
        const slice start = c->qualifiers[c->qualifier].start;
        if (!aim(c, c->row_len, start.data, start.len)) return STEP_ERROR;
        advance_to_target(c, &c->far_column);
        return STEP_ON;
      }
      case WANTED:
        break;
    }
  }
  step s = enter_column(c, key, len);
  return s == STEP_ON ? take_cell(c, b, key, len) : s;
}

// Handles an iterator at no key: at the end of its range, or after an error.
static step take_nothing(smolwc_cursor* c, output* b) {
  if (failed(c)) {
    const step s = take_error(c);
    if (s != STEP_STOP) return s;
    const int past_row = c->backward && c->row_len != 0 && !in_row(c, c->resume.data, c->resume.len);
    if (!past_row && !(c->row_open && is_undecided(c))) return s;
    c->stopped = 0;
    c->started = 1;
    if (!past_row) return decide_row(c, b);
  }
  c->aimed = 0;
  settle_row(c, b);
  if (c->row_len != 0 && c->backward) return leave_row(c) ? STEP_ON : STEP_ERROR;
  next_range(c);
  return STEP_ON;
}

// Does one step of the scan.
static step advance(smolwc_cursor* c, output* b) {
  const char* key;
  size_t len;
  if (!c->started) {
    c->started = 1;
    if (c->stopped) {
      resume(c);
      if (c->deciding) return decide(c, b);
    } else if (!start_range(c)) {
      return STEP_ERROR;
    }
  }
  if (!look(c, &key, &len)) return take_nothing(c, b);
  if (c->row_len != 0) {
    if (in_row(c, key, len)) {
      if (c->column_len == 0 || !in_column(c, key, len)) return take_column(c, b, key, len);
      if (c->column_full) return skip_column(c, b);
      return take_cell(c, b, key, len);
    }
    if (beside_row(c, key, len)) return STEP_CORRUPT;
    settle_row(c, b);
    if (c->backward) return leave_row(c) ? STEP_ON : STEP_ERROR;
    forget_row(c);
  }
  if (!in_range(c, key, len)) {
    next_range(c);
    return STEP_ON;
  }
  if (c->scan.limit != 0 && c->rows >= c->scan.limit) {
    c->done = 1;
    return STEP_ON;
  }
  step s = enter_row(c, key, len);
  if (s != STEP_ON) return s;
  if (c->scan.sample != 0 && smolwc_row_hash(c->prefix.data, c->row_len) >= c->scan.sample)
    return leave_row(c) ? STEP_ON : STEP_ERROR;
  if (!c->backward) return take_column(c, b, key, len);
  seek(c, c->prefix.data, c->row_len);
  return STEP_ON;
}

static smolwc_status fill(smolwc_cursor* c, output* b) {
  uint64_t cells_pause = c->cost.cells_scanned + c->scan.cells_per_call;
  uint64_t seeks_pause = c->cost.seeks + c->scan.cells_per_call / CELLS_PER_SEEK;
  while (!c->done) {
    switch (advance(c, b)) {
      case STEP_ON:
        break;
      case STEP_FULL:
        return SMOLWC_FULL;
      case STEP_GROW:
        return SMOLWC_GROW;
      case STEP_STOP:
        b->filled.stopped = 1;
        return SMOLWC_MORE;
      case STEP_CORRUPT:
        return SMOLWC_CORRUPT;
      case STEP_ERROR:
        return SMOLWC_ERROR;
    }
    if (c->cost.cells_scanned >= cells_pause || c->cost.seeks >= seeks_pause) {
      b->filled.undecided = c->row_open && is_undecided(c);
      return SMOLWC_MORE;
    }
  }
  return SMOLWC_END;
}

// Counts tombstones by the engine's counters of the thread. They cost some percent of a
// scan, and are on by default.
static smolwc_status fill_counting(smolwc_cursor* c, output* b) {
  rocksdb_perfcontext_t* counters = rocksdb_perfcontext_create();
  uint64_t before = rocksdb_perfcontext_metric(counters, rocksdb_internal_delete_skipped_count);
  smolwc_status status = fill(c, b);
  c->cost.tombstones +=
      rocksdb_perfcontext_metric(counters, rocksdb_internal_delete_skipped_count) - before;
  rocksdb_perfcontext_destroy(counters);
  return status;
}

static smolwc_status fill_quietly(smolwc_cursor* c, output* b) {
  rocksdb_set_perf_level(rocksdb_disable);
  smolwc_status status = fill(c, b);
  rocksdb_set_perf_level(rocksdb_enable_count);
  return status;
}

smolwc_status smolwc_cursor_fill(smolwc_cursor* c, char* data, smolwc_row* rows,
                                 smolwc_cell* cells, smolwc_block* block) {
  output b = {data, rows, cells, *block};
  const uint64_t before = smolwc_file_reads();
  if (block->large.on) smolwc_large_begin(&b.filled.large);
  smolwc_status status = c->scan.count_tombstones ? fill_counting(c, &b) : fill_quietly(c, &b);
  if (block->large.on) smolwc_large_end(&b.filled.large);
  b.filled.file_reads += smolwc_file_reads() - before;
  *block = b.filled;
  return block->large.refused ? SMOLWC_ERROR : status;
}

char* smolwc_readable(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key,
                      size_t len, smolwc_large* large) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_total_order_seek(options, 1);
  rocksdb_readoptions_set_ignore_range_deletions(options, 1);
  rocksdb_readoptions_set_max_skippable_internal_keys(options, 1);
  smolwc_large_begin(large);
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, options, family);
  rocksdb_iter_seek(it, key, len);
  char* err = NULL;
  size_t at_len;
  char* at = smolwc_iterator_stopped(it, &at_len);
  if (at == NULL) rocksdb_iter_get_error(it, &err);
  free(at);
  rocksdb_iter_destroy(it);
  smolwc_large_end(large);
  rocksdb_readoptions_destroy(options);
  return err;
}

// --- reads that are one call

struct smolwc_reader {
  rocksdb_t* db;
  rocksdb_readoptions_t* single_rows;  // options of reads of single rows
};

smolwc_reader* smolwc_reader_new(rocksdb_t* db) {
  smolwc_reader* r = calloc(1, sizeof *r);
  if (r == NULL) return NULL;
  r->db = db;
  r->single_rows = rocksdb_readoptions_create();
  rocksdb_readoptions_set_prefix_same_as_start(r->single_rows, 1);
  rocksdb_readoptions_set_max_skippable_internal_keys(r->single_rows, MOST_SKIPPED);
  return r;
}

void smolwc_reader_free(smolwc_reader* r) {
  rocksdb_readoptions_destroy(r->single_rows);
  free(r);
}

// Brings the iterator of a kept cursor to the newest state. c->sequence is read before,
// so the iterator sees at least that.
static int refresh(smolwc_cursor* c, rocksdb_t* db) {
  uint64_t sequence = rocksdb_get_latest_sequence_number(db);
  if (sequence != c->sequence && !smolwc_iterator_refresh(c->it)) return 0;
  c->sequence = sequence;
  return 1;
}

// Clears a cursor, except for its iterator, and for its memory if that is small.
static void clear_scan(smolwc_cursor* c) {
  if (c->copy.cap > KEPT_COPY) {
    free(c->copy.data);
    c->copy = (buffer){0};
  }
  smolwc_cursor empty = {.it = c->it, .copy = c->copy, .prefix = c->prefix, .target = c->target, .resume = c->resume, .sequence = c->sequence};
  *c = empty;
}

// A cursor for reads of single rows, kept or new, at the start of a scan.
static smolwc_cursor* row_cursor(smolwc_reader* r, rocksdb_column_family_handle_t* family,
                                 smolwc_kept* kept, size_t files, const smolwc_scan* scan,
                                 const char* bounds, const uint32_t* ends,
                                 const smolwc_retention* retention,
                                 const smolwc_condition* conditions) {
  smolwc_cursor* c = smolwc_kept_take(kept, files);
  if (c != NULL && !refresh(c, r->db)) {
    smolwc_cursor_free(c);
    c = NULL;
  }
  if (c == NULL) {
    c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->sequence = rocksdb_get_latest_sequence_number(r->db);
    c->it = rocksdb_create_iterator_cf(r->db, r->single_rows, family);
  }
  if (!start_scan(c, scan, bounds, ends, retention, conditions)) {
    smolwc_cursor_free(c);
    return NULL;
  }
  return c;
}

smolwc_cursor* smolwc_read(smolwc_reader* r, rocksdb_column_family_handle_t* family,
                           smolwc_kept* kept, size_t files, const smolwc_scan* scan,
                           const char* bounds, const uint32_t* ends, const smolwc_retention* retention,
                           const smolwc_condition* conditions, char* data, smolwc_row* rows,
                           smolwc_cell* cells, smolwc_block* block, smolwc_cost* cost,
                           smolwc_status* status) {
  *status = SMOLWC_ERROR;
  smolwc_cursor* c =
      scan->single_rows
          ? row_cursor(r, family, kept, files, scan, bounds, ends, retention, conditions)
          : smolwc_cursor_new(r->db, family, NULL, NULL, scan, bounds, ends, retention, conditions);
  if (c == NULL) return NULL;
  *status = smolwc_cursor_fill(c, data, rows, cells, block);
  *cost = c->cost;
  if (*status != SMOLWC_END) return c;
  if (scan->single_rows && block->large.read == 0) {  // an iterator keeps its block
    clear_scan(c);
    smolwc_kept_put(kept, files, c);
  } else {
    smolwc_cursor_free(c);
  }
  return NULL;
}
