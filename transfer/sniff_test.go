package transfer

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what files are read as")

// TestAwkwardFiles reads each file of testdata/csv as the file beside it says: how it is
// written, its fields and its records.
func TestAwkwardFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/csv/*.csv")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".csv"), func(t *testing.T) {
			got := readAll(t, path)
			beside := strings.TrimSuffix(path, ".csv") + ".want"
			if *update {
				if err := os.WriteFile(beside, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(beside)
			if err != nil || got != string(want) {
				t.Errorf("%v\nread as\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

func readAll(t *testing.T, path string) string {
	src, err := openSource(t.Context(), path, nil, format{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	c, err := newCSVReader(path, src.text, format{}, Dialect{}, &fieldNames{})
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	d := c.dialect
	fmt.Fprintf(&b, "sep=%q quote=%s header=%s skip=%d comment=%s decimal=%q ragged=%v\n", d.Separator, d.Quote, d.Header, d.Skip, d.Comment, d.Decimal, d.Ragged)
	fmt.Fprintf(&b, "%q\n", c.header.names)
	for i := range c.header.names {
		c.columns, c.codes = append(c.columns, i), append(c.codes, noCode)
	}
	rec := &record{file: filepath.Base(path), names: c.header.names, fields: make([]field, len(c.header.names))}
	for {
		err := c.next(rec)
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			fmt.Fprintf(&b, "bad: %v\n", strings.TrimPrefix(err.Error(), path))
			continue
		}
		for i, f := range rec.fields {
			if i > 0 {
				b.WriteByte(' ')
			}
			if f.state == absent {
				b.WriteString("-")
				continue
			}
			fmt.Fprintf(&b, "%q", f.text)
		}
		b.WriteByte('\n')
	}
}
