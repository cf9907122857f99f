package transfer

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// label is the format as in [Spec.Format].
func (f format) label() string {
	switch {
	case f.json:
		return "jsonl"
	case f.tabs:
		return "tsv"
	case f.parquet:
		return "parquet"
	}
	return "csv"
}

// A format is the format of a file, from its name.
type format struct {
	json        bool
	tabs        bool // TSV
	parquet     bool
	avro        bool   // of an export
	compression string // ".gz", ".zst" or ""
	live        bool   // a pipe, whose text comes when it is written
	encoding    string // one of Encodings; "": UTF-8, or by the file's mark
}

// of is the format of one file.
func (f format) of(path string, in io.Reader) format {
	f.compression, f.live = "", in != nil
	if info, err := os.Stat(path); in == nil && err == nil {
		f.live = !info.Mode().IsRegular()
	}
	for _, ext := range []string{".gz", ".zst"} {
		if !f.parquet && in == nil && strings.HasSuffix(strings.ToLower(path), ext) {
			f.compression = ext
		}
	}
	return f
}

func formatOf(path string) (format, error) {
	var f format
	name := strings.ToLower(filepath.Base(path))
	for _, ext := range []string{".gz", ".zst"} {
		if cut, ok := strings.CutSuffix(name, ext); ok {
			name, f.compression = cut, ext
			break
		}
	}
	switch filepath.Ext(name) {
	case ".csv":
		return f, nil
	case ".tsv":
		f.tabs = true
		return f, nil
	case ".jsonl", ".ndjson":
		f.json = true
		return f, nil
	case ".parquet":
		if f.parquet = true; f.compression == "" { // Parquet compresses inside the file
			return f, nil
		}
	}
	return f, specErrorf("", "%s: what it holds cannot be told from its name; import reads .parquet, .csv, .tsv, .jsonl and .ndjson, and the last four also with .gz or .zst; as csv, as tsv, as jsonl or as parquet says it", path)
}

// of holds the given parts of a TSV file's form, which uses tabs and no quotes.
func (d Dialect) of(f format) Dialect {
	if f.tabs && d.Separator == "" && d.Quote == "" {
		d.Separator, d.Quote = "\t", None
	}
	return d
}
