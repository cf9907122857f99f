package workload

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// The shape of the data: rows of five columns of 100 random bytes, unless a
// workload says otherwise.
const (
	cellsPerRow = 5
	valueBytes  = 100
)

var qualifiers = [cellsPerRow]string{"q0", "q1", "q2", "q3", "q4"}

// rowKey is the key of a row; rows are in the order of their numbers.
func rowKey(i int) string { return fmt.Sprintf("user%010d", i) }

// epoch is the timestamp of the first row; each later one is a microsecond
// younger.
const epoch cells.Timestamp = 1_700_000_000_000_000

func timestamp(row int) cells.Timestamp { return epoch + cells.Timestamp(row) }

// values is where values are cut from.
var values = randomBytes(1 << 20)

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// value is the bytes of a cell, different for neighbours, and the same for the
// same cell.
func value(cell int) []byte {
	at := cell * (valueBytes + 1) % (len(values) - valueBytes)
	return values[at : at+valueBytes]
}

// setRow sets the cells of a row of a family.
func setRow(m *query.Mutation, family string, row int) {
	for q, name := range qualifiers {
		m.SetAt(family, name, timestamp(row), cells.Bytes(value(row*cellsPerRow+q)))
	}
}

// loadRows writes rows, many at once.
func loadRows(ctx context.Context, t *query.Table, rows int, key func(row int) string, set func(m *query.Mutation, row int)) error {
	const atOnce = 1000
	for at := 0; at < rows; at += atOnce {
		var keys []string
		var ms []*query.Mutation
		for row := at; row < min(at+atOnce, rows); row++ {
			m := query.NewMutation()
			set(m, row)
			keys, ms = append(keys, key(row)), append(ms, m)
		}
		errs, err := t.ApplyBulk(ctx, keys, ms)
		if err != nil {
			return err
		}
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// plain is the dataset of one family f.
func (e *Env) plain(ctx context.Context) (*dataset, error) {
	return e.dataset(ctx, "plain", e.rows(), []schema.Family{{Name: "f"}}, func(t *query.Table) error {
		return loadRows(ctx, t, e.rows(), rowKey, func(m *query.Mutation, row int) { setRow(m, "f", row) })
	})
}

// rows is how many rows of one family have all the cells.
func (e *Env) rows() int { return max(1, e.Cells/cellsPerRow) }

// someRows are random rows of the dataset plain; some may be equal.
func (e *Env) someRows(n int) []int {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([]int, n)
	for i := range rows {
		rows[i] = rng.IntN(e.rows())
	}
	return rows
}

// rowPrefixes are the prefixes of rows' keys in the store.
func rowPrefixes(rows []int, key func(int) string) (s yardstick.Slices) {
	for _, row := range rows {
		s.Append(func(dst []byte) []byte { return cf.AppendRowPrefix(dst, key(row)) })
	}
	return s
}

func rowKeys(rows []int, key func(int) string) []string {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = key(row)
	}
	return keys
}

// columnElements are the qualifiers as elements of keys.
func columnElements(names ...string) (s yardstick.Slices) {
	for _, name := range names {
		s.Append(func(dst []byte) []byte { return cf.AppendQualifier(dst, name) })
	}
	return s
}
