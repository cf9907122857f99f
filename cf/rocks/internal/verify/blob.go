package verify

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A blob file holds values that are kept apart from their keys. RocksDB compares a
// value with its checksum when it reads the value. Its error names neither the file nor
// the key, and none of its functions reads a whole file. So this package does.
//
// A file is a header, records and a footer. RocksDB does not use a file without the
// footer. A record is a header, a key and a value; the footer counts the records.
// Numbers have the low byte first (db/blob/blob_log_format.h, stable since 2018).
const (
	blobMagic      = 2395959
	blobVersion    = 1
	blobHeader     = 30 // magic 4, version 4, family 4, flags 1, compression 1, expiration 16
	blobFooter     = 32 // magic 4, records 8, expiration 16, checksum of these 4
	blobRecordHead = 32 // key length 8, value length 8, expiration 8, checksum of these 4, of key and value 4
)

// Blob reads a blob file of a family to its end and compares its checksums.
func Blob(ctx context.Context, path string, family uint32, size int64) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", cf.ErrCorrupt, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	if info.Size() != size || size < blobHeader+blobFooter {
		return wal.Damaged(path, 0, fmt.Sprintf("the file has %d bytes and should have %d", info.Size(), max(size, blobHeader+blobFooter)))
	}
	r := &blobReader{ctx: ctx, path: path, in: bufio.NewReaderSize(file, 256<<10), end: size - blobFooter}
	return r.run(family)
}

// A blobReader reads a blob file from its beginning.
type blobReader struct {
	ctx     context.Context
	path    string
	in      *bufio.Reader
	at, end int64 // the footer begins at end
	records uint64
	buf     []byte
}

func (r *blobReader) run(family uint32) error {
	b, err := r.next(blobHeader)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	switch {
	case le.Uint32(b) != blobMagic || le.Uint32(b[4:]) != blobVersion:
		return wal.Damaged(r.path, 0, "it does not begin as a blob file does")
	case le.Uint32(b[8:]) != family:
		return wal.Damaged(r.path, 8, fmt.Sprintf("it is of the family number %d and should be of %d", le.Uint32(b[8:]), family))
	case b[12] != 0 || !wal.Zeros(b[14:blobHeader]):
		return wal.Damaged(r.path, 12, "it says that values expire, which smolwc never asks for")
	}
	for r.at < r.end {
		if err := r.record(); err != nil {
			return err
		}
	}
	at := r.at
	if b, err = r.next(blobFooter); err != nil {
		return err
	}
	switch {
	case le.Uint32(b) != blobMagic || wal.Masked(crc32.Checksum(b[:blobFooter-4], wal.Castagnoli)) != le.Uint32(b[blobFooter-4:]):
		return wal.Damaged(r.path, int64(at), "the footer does not match its checksum")
	case le.Uint64(b[4:]) != r.records:
		return wal.Damaged(r.path, int64(at), fmt.Sprintf("there are %d values and should be %d", r.records, le.Uint64(b[4:])))
	}
	return nil
}

// record reads a record, a large value in pieces.
func (r *blobReader) record() error {
	start := r.at
	if r.end-start < blobRecordHead {
		return wal.Damaged(r.path, int64(start), wal.ErrCutOff.Error())
	}
	head, err := r.next(blobRecordHead)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if wal.Masked(crc32.Checksum(head[:24], wal.Castagnoli)) != le.Uint32(head[24:]) {
		return wal.Damaged(r.path, int64(start), wal.ErrChecksum.Error())
	}
	key, value, want := le.Uint64(head), le.Uint64(head[8:]), le.Uint32(head[28:])
	if left := uint64(r.end - r.at); key > left || value > left-key {
		return wal.Damaged(r.path, int64(start), wal.ErrCutOff.Error())
	}
	sum := uint32(0)
	for left := int64(key + value); left > 0; {
		b, err := r.next(min(left, 64<<10))
		if err != nil {
			return err
		}
		sum = crc32.Update(sum, wal.Castagnoli, b)
		left -= int64(len(b))
	}
	if wal.Masked(sum) != want {
		return wal.Damaged(r.path, int64(start), "a value does not match its checksum")
	}
	r.records++
	return nil
}

// next reads n bytes. They are valid until the next call.
func (r *blobReader) next(n int64) ([]byte, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	r.buf = slices.Grow(r.buf[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.buf); err != nil {
		return nil, fmt.Errorf("%w: %s, at byte %d: %w", cf.ErrUnavailable, r.path, r.at, err)
	}
	r.at += n
	return r.buf, nil
}
