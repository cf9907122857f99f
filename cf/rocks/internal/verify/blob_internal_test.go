//go:build cgo && linux && !norocksdb

package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// blobText is a blob file of family 7 as RocksDB writes it.
func blobText(values ...string) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, blobMagic), blobVersion), 7)
	b = append(b, make([]byte, blobHeader-len(b))...)
	for _, v := range values {
		head := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, 1), uint64(len(v))), 0)
		head = le.AppendUint32(head, wal.Masked(crc32.Checksum(head, wal.Castagnoli)))
		b = append(le.AppendUint32(append(b, head...), wal.Masked(crc32.Checksum([]byte("k"+v), wal.Castagnoli))), "k"+v...)
	}
	foot := append(le.AppendUint64(le.AppendUint32(nil, blobMagic), uint64(len(values))), make([]byte, 16)...)
	return append(b, le.AppendUint32(foot, wal.Masked(crc32.Checksum(foot, wal.Castagnoli)))...)
}

// FuzzBlob: a file of any bytes is sound or damaged. A change of any byte of a sound
// file, except for the name of the compression, is found.
func FuzzBlob(f *testing.F) {
	f.Add(blobText(), 0, byte(1))
	f.Add(blobText("", "value", string(make([]byte, 100))), 50, byte(0x80))
	f.Add([]byte("short"), 1, byte(1))
	f.Fuzz(func(t *testing.T, text []byte, at int, bits byte) {
		path := filepath.Join(t.TempDir(), "000001.blob")
		check := func() error {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return Blob(t.Context(), path, 7, int64(len(text)))
		}
		if err := check(); err != nil {
			if !errors.Is(err, cf.ErrCorrupt) {
				t.Errorf("%v is no damage", err)
			}
			return
		}
		const compression = 13
		if at < 0 || at >= len(text) || at == compression || bits == 0 {
			return
		}
		text = bytes.Clone(text)
		text[at] ^= bits
		if check() == nil {
			t.Errorf("byte %d ^ %02x is not found", at, bits)
		}
	})
}
