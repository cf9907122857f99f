// Reading the physical key of a cell, format 1:
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

// The length of the byte string element that key starts with, terminator
// included; 0 when it starts with none.
static inline size_t smolwc_element_len(const char* key, size_t len) {
  if (len < 2 || key[0] != SMOLWC_TAG_BYTES) return 0;
  size_t at = 1;
  for (;;) {
    const char* zero = memchr(key + at, 0, len - at);
    if (zero == NULL) return 0;
    at = (size_t)(zero - key) + 1;
    if (at == len || (unsigned char)key[at] != SMOLWC_ESCAPE) return at;
    at++;
  }
}

// Writes the bytes that an element of len bytes stands for to out, which has
// room for len-2, and returns how many there are.
static inline size_t smolwc_unescape(const char* element, size_t len, char* out) {
  const char* from = element + 1;
  size_t left = len - 2;
  if (memchr(from, 0, left) == NULL) {
    memcpy(out, from, left);
    return left;
  }
  size_t n = 0;
  for (size_t i = 0; i < left; i++) {
    out[n++] = from[i];
    if (from[i] == 0) i++;  // the ff behind it
  }
  return n;
}

static inline int64_t smolwc_timestamp(const char* version) {
  uint64_t inverted = 0;
  memcpy(&inverted, version + 1, sizeof inverted);
  inverted = __builtin_bswap64(inverted);
  return (int64_t)(UINT64_C(0x7fffffffffffffff) - inverted);
}

#endif
