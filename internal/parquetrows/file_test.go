package parquetrows_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/parquetrows"
)

// TestRows reads a field, a field twice, and a list, which has no text.
func TestRows(t *testing.T) {
	type row struct {
		A    *int64
		B    float64
		List []string
	}
	one := int64(1)
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{A: &one, B: 0.5}, {B: 2, List: []string{"x"}}}); err != nil {
		t.Fatal(err)
	}
	f, err := parquetrows.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), cells.Value.String)
	if err != nil {
		t.Fatal(err)
	}
	fields := f.Fields()
	for name, ok := range map[string]bool{"A": true, "B": true, "List": false} {
		if can, err := f.Choose(slices.Index(fields, name)); can != ok || err != nil {
			t.Errorf("%s of %q can be chosen: %t, %v", name, fields, !ok, err)
		}
	}
	if _, err := f.Choose(slices.Index(fields, "A")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		var texts []string
		err := f.Next(func(_ int, text string) { texts = append(texts, text) })
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(texts)
		got = append(got, fmt.Sprint(f.Row(), texts))
	}
	if want := "1 [0.5 1 1], 2 [2]"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// changed is a file of the rows 1 and 2 of a required column n, with changes of its metadata.
func changed(t *testing.T, change func(*meta.FileMetaData)) []byte {
	t.Helper()
	type row struct {
		N int32 `parquet:"n"`
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{1}, {2}}); err != nil {
		t.Fatal(err)
	}
	pf, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	all := *pf.Metadata()
	change(&all)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &all)
	if err != nil {
		t.Fatal(err)
	}
	content := append(file.Bytes(), footer...)
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
}

// read reads all fields of a file, and returns the texts of each row.
func read(content []byte) (rows []string, err error) {
	f, err := parquetrows.Open(bytes.NewReader(content), int64(len(content)), cells.Value.String)
	if err != nil {
		return nil, err
	}
	for i := range f.Fields() {
		if _, err := f.Choose(i); err != nil {
			return nil, err
		}
	}
	for {
		row := ""
		err := f.Next(func(i int, text string) { row += fmt.Sprintf("%d=%s ", i, text) })
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, strings.TrimSpace(row))
	}
}

// TestTheRootOfASchema: some writers give it a type or a repetition, which mean nothing.
func TestTheRootOfASchema(t *testing.T) {
	for name, change := range map[string]func(*meta.SchemaElement){
		"as it is":       func(*meta.SchemaElement) {},
		"type":           func(root *meta.SchemaElement) { root.Type = thrift.New(meta.Boolean) },
		"required":       func(root *meta.SchemaElement) { root.RepetitionType = thrift.New(meta.Required) },
		"optional":       func(root *meta.SchemaElement) { root.RepetitionType = thrift.New(meta.Optional) },
		"repeated":       func(root *meta.SchemaElement) { root.RepetitionType = thrift.New(meta.Repeated) },
		"converted type": func(root *meta.SchemaElement) { root.ConvertedType = thrift.New(deprecated.UTF8) },
	} {
		rows, err := read(changed(t, func(m *meta.FileMetaData) { change(&m.Schema[0]) }))
		if err != nil || fmt.Sprint(rows) != "[0=1 0=2]" {
			t.Errorf("%s: read %q, %v", name, rows, err)
		}
	}
}

// TestDamagedSchemas are errors of opening the file.
func TestDamagedSchemas(t *testing.T) {
	for name, change := range map[string]func(*meta.FileMetaData){
		"empty":             func(m *meta.FileMetaData) { m.Schema = nil },
		"a type":            func(m *meta.FileMetaData) { m.Schema[1].Type = thrift.New(meta.Type(-7)) },
		"another type":      func(m *meta.FileMetaData) { m.Schema[1].Type = thrift.New(meta.Type(8)) },
		"a repetition":      func(m *meta.FileMetaData) { m.Schema[1].RepetitionType = thrift.New(meta.FieldRepetitionType(3)) },
		"too few elements":  func(m *meta.FileMetaData) { m.Schema[0].NumChildren = thrift.New[int32](2) },
		"too many elements": func(m *meta.FileMetaData) { m.Schema[0].NumChildren = thrift.New[int32](0) },
		"too many columns": func(m *meta.FileMetaData) {
			m.RowGroups[0].Columns = append(m.RowGroups[0].Columns, m.RowGroups[0].Columns...)
		},
		"fewer rows than 0":  func(m *meta.FileMetaData) { m.RowGroups[0].NumRows = -1 },
		"a length below 0":   func(m *meta.FileMetaData) { m.Schema[1].TypeLength = thrift.New[int32](-1) },
		"a member that ends": func(m *meta.FileMetaData) { m.Schema[1].NumChildren = thrift.New[int32](1) },
	} {
		if rows, err := read(changed(t, change)); err == nil {
			t.Errorf("%s: read %q", name, rows)
		}
	}
}
