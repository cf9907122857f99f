// Reading the physical key of a cell:
//   01 esc(row) 00 | 01 esc(qualifier) 00 | 1c <8 bytes, big-endian, inverted timestamp>
// esc writes 00 as 00 ff.
#ifndef SMOLWC_KEY_H
#define SMOLWC_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  SMOLWC_TAG_BYTES = 0x01,
  SMOLWC_TAG_VERSION = 0x1c,
  SMOLWC_ESCAPE = 0xff,
  SMOLWC_VERSION_LEN = 9
};

// The elements of a key are short: a call of the C library would cost more than the
// work. So these functions are inline.

static inline uint64_t smolwc_load8(const char* p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline int smolwc_same(const char* a, const char* b, size_t n) {
  if (n < 8) {
    for (size_t i = 0; i < n; i++)
      if (a[i] != b[i]) return 0;
    return 1;
  }
  for (size_t i = 0; i + 8 <= n; i += 8)
    if (smolwc_load8(a + i) != smolwc_load8(b + i)) return 0;
  return smolwc_load8(a + n - 8) == smolwc_load8(b + n - 8);
}

static inline void smolwc_copy(char* to, const char* from, size_t n) {
  if (n < 8) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
    return;
  }
  if (n > 32) {
    memcpy(to, from, n);
    return;
  }
  for (size_t i = 0; i + 8 <= n; i += 8) memcpy(to + i, from + i, 8);
  memcpy(to + n - 8, from + n - 8, 8);
}

// The index of the first zero byte, n when no byte is zero.
static inline size_t smolwc_zero(const char* p, size_t n) {
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t v = smolwc_load8(p + i);
    if ((v - ones) & ~v & tops) break;
  }
  while (i < n && p[i] != 0) i++;
  return i;
}

// The length of the byte string element at the start of key, terminator included; 0
// when key does not start with one.
static inline size_t smolwc_element_len(const char* key, size_t len) {
  if (len < 2 || key[0] != SMOLWC_TAG_BYTES) return 0;
  size_t at = 1;
  for (;;) {
    at += smolwc_zero(key + at, len - at);
    if (at == len) return 0;
    at++;
    if (at == len || (unsigned char)key[at] != SMOLWC_ESCAPE) return at;
    at++;
  }
}

// Decodes an element of len bytes into out, at least len-2 bytes long, and returns the
// number of bytes.
static inline size_t smolwc_unescape(const char* element, size_t len, char* out) {
  const char* from = element + 1;
  size_t left = len - 2;
  size_t plain = smolwc_zero(from, left);
  smolwc_copy(out, from, plain);
  size_t n = plain;
  for (size_t i = plain; i < left; i++) {
    out[n++] = from[i];
    if (from[i] == 0) i++;  // the ff after it
  }
  return n;
}

// The hash of the row key in a row prefix of len bytes; the same as cf.RowHash.
static inline uint64_t smolwc_row_hash(const char* prefix, size_t len) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 1; i + 1 < len; i++) {
    h = (h ^ (unsigned char)prefix[i]) * UINT64_C(0x100000001b3);
    if (prefix[i] == 0) i++;  // the ff after it
  }
  h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
  h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return h ^ h >> 33;
}

static inline void smolwc_put_version(char* version, int64_t ts) {
  uint64_t inverted = __builtin_bswap64(UINT64_C(0x7fffffffffffffff) - (uint64_t)ts);
  version[0] = SMOLWC_TAG_VERSION;
  memcpy(version + 1, &inverted, sizeof inverted);
}

// Whether the bytes are a version element: the inverted timestamp is not negative.
static inline int smolwc_is_version(const char* version) {
  return version[0] == SMOLWC_TAG_VERSION && (version[1] & 0x80) == 0;
}

static inline int64_t smolwc_timestamp(const char* version) {
  uint64_t inverted = 0;
  memcpy(&inverted, version + 1, sizeof inverted);
  inverted = __builtin_bswap64(inverted);
  return (int64_t)(UINT64_C(0x7fffffffffffffff) - inverted);
}

#endif
