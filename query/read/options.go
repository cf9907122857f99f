package read

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/filter"
)

type setting func(*Request)

func (f setting) apply(r *Request) { f(r) }

// StartAfter reads only rows after a key, exclusive, in the order of the read: with
// [Reverse], those before it. Use it to continue a read after its last row.
func StartAfter(key string) Option { return setting(func(r *Request) { r.After = key }) }

// Versions reads the newest n cells of each column among the cells in the time range;
// 0, the default, is all.
func Versions(n int) Option { return setting(func(r *Request) { r.Versions = n }) }

// TimeRange reads cells with timestamps from since, inclusive, to until, exclusive; an
// until of 0 is no bound.
func TimeRange(since, until cells.Timestamp) Option {
	return setting(func(r *Request) { r.Since, r.Until = since, until })
}

// CellsPerRow reads the first n cells of each row; 0, the default, is all.
func CellsPerRow(n int) Option { return setting(func(r *Request) { r.CellsPerRow = n }) }

// Limit ends the read after this many rows; 0, the default, is no limit.
func Limit(rows int) Option { return setting(func(r *Request) { r.Limit = rows }) }

// Offset skips this many rows first. It costs as much as reading their keys;
// [StartAfter] is the cheaper way to continue.
func Offset(rows int) Option { return setting(func(r *Request) { r.Offset = rows }) }

// Reverse reads rows in descending key order. Cells in a row keep their order.
func Reverse() Option { return setting(func(r *Request) { r.Reverse = true }) }

// KeysOnly reads rows without their cells. It returns the rows that have a cell
// selected by the other options.
func KeysOnly() Option { return setting(func(r *Request) { r.KeysOnly = true }) }

// EveryRow also reads the rows that have none of the columns that are read, without cells:
// it is for figures of all rows. Of all else it reads only which rows have cells. The rows
// also have, and Count counts, the cells of columns that conditions judge, in families with
// columns that are read. Without columns it does nothing. It cannot be given with [Filter],
// nor to reads of pages or of single cells.
func EveryRow() Option { return setting(func(r *Request) { r.EveryRow = true }) }

// Lend makes ReadRows and the parallel reads use the memory of rows again: a row, its key
// and its cells are valid until the next row, or the end of the read. What is kept must be
// copied. It is for scans that look at rows and keep none of them: docs/performance.md says
// how much faster they are. Other reads ignore it.
func Lend() Option { return setting(func(r *Request) { r.Lend = true }) }

// SampleByKey reads each row with probability p, from 0 to 1. The choice depends only on
// the row key, by a hash that never changes, cf.RowHash: a repeated read, the next page and
// a read of another table with the same keys choose the same rows, and a larger p chooses
// these and more. The engine skips all other rows. [filter.RowSample] chooses anew each
// time.
func SampleByKey(p float64) Option {
	return setting(func(r *Request) { r.Sampled, r.Sample = true, p })
}

// Filter gives each row's cells to a filter and returns the cells that it lets
// through; a row without such cells is not returned. nil is no filter.
//
// The other options come first: the filter sees the cells that columns, time range,
// versions and cells per row select, in the rows that satisfy the conditions. [Limit]
// and [Offset] count the rows that the filter leaves. With [KeysOnly] the filter
// decides which rows are returned.
func Filter(f filter.Filter) Option {
	return setting(func(r *Request) { r.Filter, r.WideIntegers = f, false })
}

// BigtableFilter is [Filter], but an i32 or a byte is filtered by the raw bytes of the i64
// of the same value: Bigtable's integers all take 8 bytes.
func BigtableFilter(f filter.Filter) Option {
	return setting(func(r *Request) { r.Filter, r.WideIntegers = f, true })
}

// Rejected calls fn with the key of each row that the read reaches and does not return,
// because a condition or a filter leaves nothing of it. With it a read that returns few
// rows can report its progress. Rows that the engine skips by itself are not reported;
// for a filter that never lets anything through, only the last row is reported. With
// [Lend] the key is valid until fn returns. An error of fn ends the read. A nil fn is not
// called.
func Rejected(fn func(key string) error) Option {
	return setting(func(r *Request) { r.Rejected = fn })
}

// DefaultPageSize is how many rows, or columns, are on a page without [PageSize].
const DefaultPageSize = 100

// PageSize limits the rows of a page, or its columns when a single row is read; 0 is the
// default. It may differ from page to page.
func PageSize(n int) Option { return setting(func(r *Request) { r.PageSize = n }) }

// After makes a read of pages continue after the page that gave this token; "" is the
// first page.
func After(token string) Option { return setting(func(r *Request) { r.PageToken = token }) }

// ReportCost makes the read write its cost to c when it ends; a nil c is ignored.
func ReportCost(c *Cost) Option { return setting(func(r *Request) { r.Cost = c }) }
