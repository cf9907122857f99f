package console

import (
	"context"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/shell"
	"github.com/smolwc/smolwc/sql/value"
	"github.com/smolwc/smolwc/transfer"
)

// fileTypes are the content types of downloads, by their formats.
var fileTypes = map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}

// maxParquets is how many Parquet files are written at once: each takes up to about 100 MiB.
const maxParquets = 2

// download sends a result as a file.
func (v *visit) download(text, format string) error {
	found, err := v.start(text, 0)
	if err != nil {
		return err
	}
	send := func(w io.Writer) error { return printed(w, found, format) }
	switch found := found.(type) {
	case *exec.RowStream:
		if found.Into != "" {
			return invalid("a page writes no files; leave out `into`")
		}
		if format == "parquet" {
			send = func(w io.Writer) error {
				_, err := transfer.ExportFrom(v.r.Context(), streamed{found}, found.Table, transfer.ExportSpec{Path: "-", Out: w, Format: format})
				return err
			}
		}
	case *exec.Queried:
		if format == "parquet" {
			send = func(w io.Writer) error { return writeParquet(w, found) }
		}
	default:
		if format == "parquet" {
			return invalid("a file of Parquet has the rows of a scan or of a query in SQL; download this result as CSV or JSON lines")
		}
	}
	if format == "parquet" {
		select {
		case v.console.parquets <- struct{}{}:
			defer func() { <-v.console.parquets }()
		default:
			return &query.Error{Op: "page", Kind: query.KindBusy, Err: errorf("pages write %d Parquet files now; try again when one is complete", maxParquets)}
		}
	}
	v.w.Header().Set("Content-Type", fileTypes[format])
	v.w.Header().Set("Content-Disposition", `attachment; filename="result.`+format+`"`)
	if err := send(v.w); err != nil {
		panic(http.ErrAbortHandler) // so that the browser does not take a part for the whole
	}
	return nil
}

// streamed is the rows of a scan as a table that can be exported, once.
type streamed struct{ *exec.RowStream }

func (s streamed) ReadRows(ctx context.Context, _ ...read.Option) iter.Seq2[*query.Row, error] {
	return s.All()
}

func (s streamed) ApplyBulk(context.Context, []string, []*write.Mutation) ([]error, error) {
	return nil, invalid("a result takes no writes")
}

// writeParquet writes a query's result. Values that are neither numbers, texts, bytes nor times
// are texts as the page shows them.
func writeParquet(w io.Writer, q *exec.Queried) error {
	columns := make([]transfer.ParquetColumn, len(q.Columns))
	for i, c := range q.Columns {
		columns[i] = parquetColumn(c.Type.Kind)
		columns[i].Name = q.Name(i)
	}
	return transfer.WriteParquet(w, columns, func(yield func([]cells.Value, error) bool) {
		row := make([]cells.Value, len(columns))
		for values, err := range q.All() {
			if err == nil {
				for i, v := range values {
					row[i] = parquetValue(v)
				}
			}
			if !yield(row, err) {
				return
			}
		}
	})
}

func parquetColumn(kind value.Kind) transfer.ParquetColumn {
	switch kind {
	case value.TypeInt64, value.TypeNull:
		return transfer.ParquetColumn{Type: cells.TypeI64}
	case value.TypeFloat32:
		return transfer.ParquetColumn{Type: cells.TypeF32}
	case value.TypeFloat64:
		return transfer.ParquetColumn{Type: cells.TypeF64}
	case value.TypeBool:
		return transfer.ParquetColumn{Type: cells.TypeBool}
	case value.TypeBytes:
		return transfer.ParquetColumn{Type: cells.TypeBytes}
	case value.TypeTimestamp:
		return transfer.ParquetColumn{Type: cells.TypeI64, Moment: true}
	case value.TypeDate:
		return transfer.ParquetColumn{Type: cells.TypeI32, Day: true}
	}
	return transfer.ParquetColumn{Type: cells.TypeString}
}

// parquetValue is a value of a query; the zero Value for NULL.
func parquetValue(v any) cells.Value {
	switch v := v.(type) {
	case nil:
		return cells.Value{}
	case int64:
		return cells.I64(v)
	case float32:
		return cells.F32(v)
	case float64:
		return cells.F64(v)
	case bool:
		return cells.Bool(v)
	case []byte:
		return cells.Bytes(v)
	case string:
		return cells.String(v)
	case cells.Timestamp:
		return cells.I64(int64(v))
	case value.Date:
		return cells.I32(int32(v.Time().Unix() / int64(24*time.Hour/time.Second)))
	}
	return cells.String(shell.ShownValue(v))
}
