//go:build cgo && linux && !norocksdb

#include "merge.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// An operand is a kind and a value; a value is a tag and a payload. The result of a
// merge is a value; the result of a partial merge is an operand.
enum { KIND_SUM = 1, KIND_MIN = 2, KIND_MAX = 3, KIND_DISTINCT = 4 };
enum { TAG_UNMERGED = 0x00, TAG_BYTES = 0x01, TAG_I64 = 0x06 };

enum {
  I64_LEN = 1 + 8,    // a value of 64 bits
  WIDE_LEN = 1 + 16,  // a sum that does not fit into 64 bits

  SKETCH_VERSION = 1,
  SKETCH_HEADER = 3,  // tag, version, form
  FORM_HASHES = 0,
  FORM_REGISTERS = 1,
  HASH_LEN = 8,
  INDEX_BITS = 14,
  REGISTERS = 1 << INDEX_BITS,
  MAX_RANK = 64 - INDEX_BITS + 1,
  MAX_HASHES = REGISTERS / HASH_LEN  // more hashes would take more bytes than the registers
};

typedef struct {
  const char* data;
  size_t len;
} slice;

static uint64_t load64(const char* p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return __builtin_bswap64(v);
}

static void store64(char* p, uint64_t v) {
  v = __builtin_bswap64(v);
  memcpy(p, &v, sizeof v);
}

static void store32(char* p, uint32_t v) {
  v = __builtin_bswap32(v);
  memcpy(p, &v, sizeof v);
}

// --- integers

static int read_i64(slice v, int64_t* n) {
  if (v.len != I64_LEN || v.data[0] != TAG_I64) return 0;
  *n = (int64_t)load64(v.data + 1);
  return 1;
}

static int fits(__int128 n) { return n >= INT64_MIN && n <= INT64_MAX; }

// A sum of 128 bits is valid only if it does not fit into 64.
static int read_sum(slice v, __int128* n) {
  int64_t narrow;
  if (read_i64(v, &narrow)) {
    *n = narrow;
    return 1;
  }
  if (v.len != WIDE_LEN || v.data[0] != TAG_BYTES) return 0;
  unsigned __int128 bits = (unsigned __int128)load64(v.data + 1) << 64 | load64(v.data + 9);
  *n = (__int128)bits;
  return !fits(*n);
}

static size_t write_sum(char* out, __int128 n) {
  if (fits(n)) {
    out[0] = TAG_I64;
    store64(out + 1, (uint64_t)(int64_t)n);
    return I64_LEN;
  }
  unsigned __int128 bits = (unsigned __int128)n;
  out[0] = TAG_BYTES;
  store64(out + 1, (uint64_t)(bits >> 64));
  store64(out + 9, (uint64_t)bits);
  return WIDE_LEN;
}

// --- sketches

// A union of sketches: hashes, and registers once there are too many hashes. The first
// `sorted` hashes are in order, without repetitions.
typedef struct {
  int dense;
  size_t len, sorted;
  uint64_t hashes[2 * MAX_HASHES], scratch[2 * MAX_HASHES];
  uint8_t registers[REGISTERS];
} sketch;

static void raise_register(sketch* s, uint64_t hash) {
  size_t i = hash >> (64 - INDEX_BITS);
  // The bit after the rest bounds the count of leading zeros.
  uint64_t rest = hash << INDEX_BITS | UINT64_C(1) << (INDEX_BITS - 1);
  uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
  if (s->registers[i] < rank) s->registers[i] = rank;
}

static void make_dense(sketch* s) {
  if (s->dense) return;
  s->dense = 1;
  memset(s->registers, 0, sizeof s->registers);
  for (size_t i = 0; i < s->len; i++) raise_register(s, s->hashes[i]);
}

static int compare_hashes(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

// Sorts the hashes, drops repetitions, and changes to registers if there are too many.
static void settle(sketch* s) {
  if (s->dense) return;
  uint64_t* tail = s->hashes + s->sorted;
  size_t tail_len = s->len - s->sorted;
  if (tail_len == 0) goto settled;
  qsort(tail, tail_len, sizeof *tail, compare_hashes);
  size_t n = 0;
  for (size_t i = 0, j = 0; i < s->sorted || j < tail_len;) {
    uint64_t h = j == tail_len || (i < s->sorted && s->hashes[i] <= tail[j]) ? s->hashes[i++] : tail[j++];
    if (n == 0 || s->scratch[n - 1] != h) s->scratch[n++] = h;
  }
  memcpy(s->hashes, s->scratch, n * sizeof *s->hashes);
  s->len = s->sorted = n;
settled:
  if (s->len > MAX_HASHES) make_dense(s);
}

static void add_hash(sketch* s, uint64_t hash) {
  if (!s->dense && s->len == 2 * MAX_HASHES) settle(s);
  if (s->dense) {
    raise_register(s, hash);
    return;
  }
  if (s->sorted == s->len && (s->len == 0 || s->hashes[s->len - 1] < hash)) s->sorted++;
  s->hashes[s->len++] = hash;
}

// Adds hashes to the union; returns 0 when the bytes are not valid.
static int add_hashes(sketch* s, const char* data, size_t len) {
  if (len == 0 || len % HASH_LEN != 0 || len / HASH_LEN > MAX_HASHES) return 0;
  for (size_t i = HASH_LEN; i < len; i += HASH_LEN)
    if (load64(data + i - HASH_LEN) >= load64(data + i)) return 0;
  for (size_t i = 0; i < len; i += HASH_LEN) add_hash(s, load64(data + i));
  return 1;
}

static int add_registers(sketch* s, const uint8_t* ranks, size_t len) {
  if (len != REGISTERS) return 0;
  uint8_t most = 0;
  for (size_t i = 0; i < len; i++) most = ranks[i] > most ? ranks[i] : most;
  if (most > MAX_RANK) return 0;
  make_dense(s);
  for (size_t i = 0; i < len; i++)
    s->registers[i] = ranks[i] > s->registers[i] ? ranks[i] : s->registers[i];
  return 1;
}

static int add_sketch(sketch* s, slice v) {
  if (v.len < SKETCH_HEADER || v.data[0] != TAG_BYTES || v.data[1] != SKETCH_VERSION) return 0;
  const char* data = v.data + SKETCH_HEADER;
  size_t len = v.len - SKETCH_HEADER;
  switch (v.data[2]) {
    case FORM_HASHES:
      return add_hashes(s, data, len);
    case FORM_REGISTERS:
      return add_registers(s, (const uint8_t*)data, len);
  }
  return 0;
}

static size_t sketch_len(const sketch* s) {
  return SKETCH_HEADER + (s->dense ? (size_t)REGISTERS : s->len * HASH_LEN);
}

static void write_sketch(char* out, const sketch* s) {
  out[0] = TAG_BYTES;
  out[1] = SKETCH_VERSION;
  out[2] = s->dense ? FORM_REGISTERS : FORM_HASHES;
  out += SKETCH_HEADER;
  if (s->dense) {
    memcpy(out, s->registers, REGISTERS);
    return;
  }
  for (size_t i = 0; i < s->len; i++) store64(out + i * HASH_LEN, s->hashes[i]);
}

// --- merging

// The input of a merge: the existing value, whose data is NULL if there is no value,
// and operands.
typedef struct {
  slice existing;
  const char* const* operands;
  const size_t* lens;
  size_t len;
} input;

// The i-th value of an input: the existing one first.
static slice value_at(const input* in, size_t i) {
  if (in->existing.data != NULL) {
    if (i == 0) return in->existing;
    i--;
  }
  return (slice){in->operands[i] + 1, in->lens[i] - 1};
}

static size_t values_len(const input* in) { return in->len + (in->existing.data != NULL); }

// The kind that all operands have; 0 when they differ.
static int kind_of(const input* in) {
  if (in->len == 0 || in->lens[0] == 0) return 0;
  for (size_t i = 1; i < in->len; i++)
    if (in->lens[i] == 0 || in->operands[i][0] != in->operands[0][0]) return 0;
  return (unsigned char)in->operands[0][0];
}

// Each of these returns the merged value in new memory, with one byte before it for the
// kind; NULL if the values cannot be merged or memory is out.

static char* merge_sum(const input* in, size_t* len) {
  __int128 sum = 0, n;
  for (size_t i = 0; i < values_len(in); i++)
    if (!read_sum(value_at(in, i), &n) || __builtin_add_overflow(sum, n, &sum)) return NULL;
  char* out = malloc(1 + WIDE_LEN);
  if (out != NULL) *len = write_sum(out + 1, sum);
  return out;
}

static char* merge_extreme(const input* in, int kind, size_t* len) {
  int64_t best, n;
  if (!read_i64(value_at(in, 0), &best)) return NULL;
  for (size_t i = 1; i < values_len(in); i++) {
    if (!read_i64(value_at(in, i), &n)) return NULL;
    if (kind == KIND_MIN ? n < best : n > best) best = n;
  }
  char* out = malloc(1 + I64_LEN);
  if (out != NULL) *len = write_sum(out + 1, best);
  return out;
}

static char* merge_distinct(const input* in, size_t* len) {
  sketch* s = malloc(sizeof *s);
  if (s == NULL) return NULL;
  s->dense = 0;
  s->len = s->sorted = 0;
  char* out = NULL;
  for (size_t i = 0; i < values_len(in); i++)
    if (!add_sketch(s, value_at(in, i))) goto done;
  settle(s);
  out = malloc(1 + sketch_len(s));
  if (out == NULL) goto done;
  write_sketch(out + 1, s);
  *len = sketch_len(s);
done:
  free(s);
  return out;
}

static char* merge(const input* in, int kind, size_t* len) {
  switch (kind) {
    case KIND_SUM:
      return merge_sum(in, len);
    case KIND_MIN:
    case KIND_MAX:
      return merge_extreme(in, kind, len);
    case KIND_DISTINCT:
      return merge_distinct(in, len);
  }
  return NULL;
}

// --- what cannot be merged

// A failed full merge would fail every flush and compaction of the cell, and so the
// database. So full_merge then returns a value that readers refuse and that keeps
// everything: the tag 00, then the existing value and the operands, each after its
// length.
static char* keep_unmerged(const input* in, size_t* len) {
  slice old = in->existing;
  int again = old.data != NULL && old.len != 0 && old.data[0] == TAG_UNMERGED;
  size_t size = 1;
  if (old.data != NULL) size += again ? old.len - 1 : 4 + old.len;
  for (size_t i = 0; i < in->len; i++) size += 4 + in->lens[i];
  char* out = malloc(size);
  if (out == NULL) return NULL;
  char* at = out;
  *at++ = TAG_UNMERGED;
  if (old.data != NULL && !again) {
    store32(at, (uint32_t)old.len);
    at += 4;
  }
  if (old.data != NULL) {
    memcpy(at, old.data + again, old.len - (size_t)again);
    at += old.len - (size_t)again;
  }
  for (size_t i = 0; i < in->len; i++) {
    store32(at, (uint32_t)in->lens[i]);
    memcpy(at + 4, in->operands[i], in->lens[i]);
    at += 4 + in->lens[i];
  }
  *len = size;
  return out;
}

// --- the operator

static char* full_merge(void* state, const char* key, size_t key_len, const char* existing,
                        size_t existing_len, const char* const* operands, const size_t* lens,
                        int operands_len, unsigned char* success, size_t* len) {
  (void)state, (void)key, (void)key_len;
  input in = {{existing, existing_len}, operands, lens, (size_t)operands_len};
  *len = 0;
  char* out = merge(&in, kind_of(&in), len);
  if (out != NULL) {
    memmove(out, out + 1, *len);
  } else {
    out = keep_unmerged(&in, len);
  }
  *success = out != NULL;
  return out;
}

// Merges operands into one, in new memory; NULL when they have no kind in common or
// n is 0.
static char* merge_operands(const char* const* operands, const size_t* lens, size_t n, size_t* len) {
  input in = {{NULL, 0}, operands, lens, n};
  *len = 0;
  int kind = kind_of(&in);
  char* out = merge(&in, kind, len);
  if (out != NULL) {
    out[0] = (char)kind;
    *len += 1;
  }
  return out;
}

// The engine keeps operands as they are when a partial merge fails.
static char* partial_merge(void* state, const char* key, size_t key_len,
                           const char* const* operands, const size_t* lens, int operands_len,
                           unsigned char* success, size_t* len) {
  (void)state, (void)key, (void)key_len;
  char* out = merge_operands(operands, lens, (size_t)operands_len, len);
  *success = out != NULL;
  return out;
}

static const char* merge_name(void* state) {
  (void)state;
  return "smolwc.Aggregate.1";
}

static void merge_destroy(void* state) { (void)state; }

rocksdb_mergeoperator_t* smolwc_merge_operator(void) {
  return rocksdb_mergeoperator_create(NULL, merge_destroy, full_merge, partial_merge, NULL,
                                      merge_name);
}
