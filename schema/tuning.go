package schema

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Tuning is how the engine keeps a family on disk. It does not affect the
// result of a read, and files written under one tuning are readable under any
// other. The zero Tuning leaves everything to the store. A change affects only
// files written afterwards.
type Tuning struct {
	// Compression is "none", "lz4" or "zstd", for all files. Empty is zstd for the
	// files of the bottom level, which hold nine tenths of the data, and lz4 for all
	// other files.
	Compression string
	// BlockSize is how much is read and cached at once, in bytes before
	// compression, 1 KiB to 1 MiB; 0 is 16 KiB. Small blocks suit random reads of
	// single rows, large ones compress better.
	BlockSize int64
	// BlobMinSize is the size in bytes from which a value is kept in a file of
	// its own kind, so that compactions do not copy it again and again, 1 KiB to
	// 100 MiB; 0 is never.
	BlobMinSize int64
}

// compressions are the values of Tuning.Compression besides the empty string.
var compressions = []string{"none", "lz4", "zstd"}

// The bounds of sizes in a Tuning.
const (
	minTuned     = 1 << 10
	maxBlockSize = 1 << 20
	maxBlobMin   = 100 << 20
)

// String is the fields that are set, "compression=zstd block_size=32KiB"; empty
// for the zero Tuning.
func (t Tuning) String() string {
	var set []string
	if t.Compression != "" {
		set = append(set, "compression="+t.Compression)
	}
	if t.BlockSize != 0 {
		set = append(set, "block_size="+FormatSize(t.BlockSize))
	}
	if t.BlobMinSize != 0 {
		set = append(set, "blob_min_size="+FormatSize(t.BlobMinSize))
	}
	return strings.Join(set, " ")
}

// orDefault is String, but "default" for the zero Tuning.
func (t Tuning) orDefault() string {
	if t == (Tuning{}) {
		return "default"
	}
	return t.String()
}

func (t Tuning) validate(fs *faults, path string) {
	if t.Compression != "" {
		addError(fs, path+".compression", checkCompression(t.Compression))
	}
	addError(fs, path+".block_size", checkTuned(t.BlockSize, maxBlockSize))
	addError(fs, path+".blob_min_size", checkTuned(t.BlobMinSize, maxBlobMin))
}

func checkCompression(name string) error {
	if slices.Contains(compressions, name) {
		return nil
	}
	return unknownName("compression", name, compressions)
}

func checkTuned(n, most int64) error {
	if n != 0 && (n < minTuned || n > most) {
		return fmt.Errorf("%s is out of range; want %s to %s", FormatSize(n), FormatSize(minTuned), FormatSize(most))
	}
	return nil
}

func (d *decoder) tuning(n *yaml.Node, path string) (t Tuning) {
	if n == nil {
		return t
	}
	keys := d.mapping(n, path, []string{"compression", "block_size", "blob_min_size"})
	if c, ok := keys["compression"]; ok {
		if t.Compression = d.text(c, path+".compression"); t.Compression == "" && scalar(c) {
			d.fault(c, path+".compression", "want one of %s", strings.Join(compressions, ", "))
		}
	}
	t.BlockSize = d.size(keys["block_size"], path+".block_size")
	t.BlobMinSize = d.size(keys["blob_min_size"], path+".blob_min_size")
	return t
}

// size decodes a size. It is 0 if the key is absent; a 0 in the text is a fault.
func (d *decoder) size(n *yaml.Node, path string) int64 {
	text := d.text(n, path)
	if n == nil || !scalar(n) {
		return 0
	}
	size, err := ParseSize(text)
	if err == nil && size == 0 {
		err = fmt.Errorf("0 is out of range; leave the key out for the default")
	}
	if err != nil {
		d.fault(n, path, "%v", err)
		return 0
	}
	return size
}

// The JSON of a tuning in the catalog; sizes are in bytes.
type catalogTuning struct {
	Compression string `json:"compression,omitempty"`
	BlockSize   int64  `json:"block_size,omitempty"`
	BlobMinSize int64  `json:"blob_min_size,omitempty"`
}
