package rocks

// #include "write.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// engineCompression are the engine's names of compressions, of all files and of
// those at the bottom.
var engineCompression = map[string][2]string{
	"":     {"kLZ4Compression", "kZSTD"},
	"none": {"kNoCompression", "kNoCompression"},
	"lz4":  {"kLZ4Compression", "kLZ4Compression"},
	"zstd": {"kZSTD", "kZSTD"},
}

// tuningOptions are the options of a tuning by the engine's names, which both an
// open family and options that are yet to be used understand.
func (s *Store) tuningOptions(t cf.Tuning) (names, values []string, err error) {
	set := func(name, value string) { names, values = append(names, name), append(values, value) }
	compression, ok := engineCompression[t.Compression]
	if !ok {
		return nil, nil, fmt.Errorf("unknown compression %q", t.Compression)
	}
	set("compression", compression[0])
	set("bottommost_compression", compression[1])
	block := int64(blockSize)
	if s.options.FileSize > 0 {
		block = min(block, int64(s.options.FileSize))
	}
	if t.BlockSize > 0 {
		block = t.BlockSize
	}
	set("block_based_table_factory", "{block_size="+strconv.FormatInt(block, 10)+"}")
	set("enable_blob_files", strconv.FormatBool(t.BlobMinSize > 0))
	set("min_blob_size", strconv.FormatInt(t.BlobMinSize, 10))
	set("blob_compression_type", compression[0])
	// Without it, a blob file stays until its last value is gone.
	set("enable_blob_garbage_collection", "true")
	return names, values, nil
}

// SetTuning implements cf.Store.
func (s *Store) SetTuning(name string, t cf.Tuning) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	f, err := s.families.Load().get(name)
	if err != nil {
		return err
	}
	names, values, err := s.tuningOptions(t)
	if err != nil {
		return err
	}
	was := f.tuning.Swap(&t)
	if was == nil {
		was = &cf.Tuning{}
	}
	if *was == t {
		return nil // it would write the engine's options to the disk for nothing
	}
	return s.changeManifest(func() error { return s.db.SetOptionsCF(f.handle, names, values) })
}

// tune makes options that are used for files of a family those of its tuning.
func (s *Store) tune(o *grocksdb.Options, f *family) error {
	t := f.tuning.Load()
	if t == nil {
		return nil
	}
	names, values, err := s.tuningOptions(*t)
	if err != nil {
		return err
	}
	pairs := make([]string, len(names))
	for i := range names {
		pairs[i] = names[i] + "=" + values[i]
	}
	return setOptions(o, strings.Join(pairs, ";"))
}

// setOptions sets options by the engine's names, "a=1;b={c=2}".
func setOptions(o *grocksdb.Options, pairs string) error {
	text := C.CString(pairs)
	defer C.free(unsafe.Pointer(text))
	c := (*C.rocksdb_options_t)(native.Handle(o))
	var msg *C.char
	C.rocksdb_get_options_from_string(c, text, c, &msg)
	return native.TakeError(unsafe.Pointer(msg))
}
