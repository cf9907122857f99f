package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/transfer"
)

// The rows of a query are the rows of the file, NULLs included, also over several chunks.
func TestWriteParquet(t *testing.T) {
	columns := []transfer.ParquetColumn{{Name: "n", Type: cells.TypeI64}, {Name: "n", Type: cells.TypeString}, {Name: "at", Type: cells.TypeI64, Moment: true}, {Name: "day", Type: cells.TypeI32, Day: true}, {Name: "never", Type: cells.TypeBool}}
	const n = 10_000
	rows := func(fail error) iter.Seq2[[]cells.Value, error] {
		return func(yield func([]cells.Value, error) bool) {
			row := make([]cells.Value, len(columns))
			for i := range n {
				row[0], row[1], row[2], row[3] = cells.I64(int64(i)), cells.String(fmt.Sprint("row ", i)), cells.I64(1), cells.I32(-1)
				if i%3 == 0 {
					row[1] = cells.Value{}
				}
				if !yield(row, nil) {
					return
				}
			}
			if fail != nil {
				yield(nil, fail)
			}
		}
	}
	var out bytes.Buffer
	if err := transfer.WriteParquet(&out, columns, rows(nil)); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if want := "n n_2 at day never"; fmt.Sprint(names(file)) != "["+want+"]" {
		t.Errorf("the columns are %v, want %s", names(file), want)
	}
	r := parquet.NewReader(file)
	defer r.Close()
	for i := range n {
		row := make([]parquet.Row, 1)
		if got, err := r.ReadRows(row); got != 1 {
			t.Fatalf("row %d: %v", i, err)
		}
		want := fmt.Sprintf("%d row %d 1 -1 <null>", i, i)
		if i%3 == 0 {
			want = fmt.Sprintf("%d <null> 1 -1 <null>", i)
		}
		if got := fmt.Sprintf("%v %v %v %v %v", row[0][0], row[0][1], row[0][2].Int64(), row[0][3].Int32(), row[0][4]); got != want {
			t.Fatalf("row %d is %s, want %s", i, got, want)
		}
	}
	broken := errors.New("the query broke")
	if err := transfer.WriteParquet(&out, columns, rows(broken)); !errors.Is(err, broken) {
		t.Errorf("a query that breaks: %v", err)
	}
}

func names(file *parquet.File) (all []string) {
	for _, c := range file.Root().Columns() {
		all = append(all, c.Name())
	}
	return all
}
