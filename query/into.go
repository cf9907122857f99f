package query

import (
	"iter"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/tags"
)

// Into sets the fields of the struct that dst points to from the row, by their tags:
//
//	type Plane struct {
//		Key   string            `smolwc:"key"` // the row key; or []byte
//		Model string            `smolwc:"meta:model"` // the newest version of a column
//		Since cells.Timestamp   `smolwc:"meta:model,timestamp"` // its timestamp; or time.Time
//		Seats *int32            `smolwc:"meta:seats"` // nil if the row has no such cell
//		Miles []int64           `smolwc:"meta:miles"` // all versions, newest first
//		Loc   map[string]string `smolwc:"loc"` // a whole family, by qualifier
//	}
//
// A value is of a Go type of exactly its own type, or of one derived from it: string, bool,
// uint8 for byte, int32, int64 or int, float32, float64, []byte, and of any type as
// [cells.Value], or as a [cells.Cell] with its timestamp. A value of another type is an
// error of kind [KindFailedPrecondition] that names column and field; nothing is converted.
// Fields whose tags match no cell of the row become zero, fields without tags stay as they
// are, and so does everything after an error. What is set shares no memory with the row.
// The fields of embedded structs count; a qualifier with a comma cannot be a tag.
// [write.From] makes a mutation by the same tags.
//
// Into of a nil Row, as [Table.ReadRow] returns it for a row that is not there, is an error
// of kind [KindNotFound].
func (r *Row) Into(dst any) error {
	if r == nil {
		return fail("read into a struct", "", "", fault.Errorf(fault.NotFound, "there is no row"))
	}
	return fail("read into a struct", "", r.Key(), tags.Load(dst, r))
}

// RowInto is a row as a struct, as [Row.Into] makes it, or the error that came with the row:
//
//	plane, err := query.RowInto[Plane](table.ReadRow(ctx, "plane#N0042"))
func RowInto[T any](r *Row, err error) (T, error) {
	var v T
	if err == nil {
		err = r.Into(&v)
	}
	return v, err
}

// RowsInto are rows as structs, as [Row.Into] makes them. They end with the first error:
//
//	for plane, err := range query.RowsInto[Plane](table.ReadRows(ctx, read.Prefix("plane#"))) {
func RowsInto[T any](rows iter.Seq2[*Row, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if rows == nil {
			yield(RowInto[T](nil, fail("read into structs", "", "", fault.Given("rows", false))))
			return
		}
		for r, err := range rows {
			v, err := RowInto[T](r, err)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}
