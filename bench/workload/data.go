package workload

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// The shape of the data: by default rows of five columns of 100 random bytes.
const (
	cellsPerRow = 5
	valueBytes  = 100
)

var qualifiers = [cellsPerRow]string{"q0", "q1", "q2", "q3", "q4"}

// rowKey returns the key of a row; keys sort by row number.
func rowKey(i int) string { return fmt.Sprintf("user%010d", i) }

// epoch is the timestamp of the first row; each later row is a microsecond newer.
const epoch cells.Timestamp = 1_700_000_000_000_000

func timestamp(row int) cells.Timestamp { return epoch + cells.Timestamp(row) }

// values is the source of all values.
var values = randomBytes(1 << 20)

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// value returns the bytes of a cell. They differ for adjacent cells and are always the
// same for one cell.
func value(cell int) []byte {
	at := cell * (valueBytes + 1) % (len(values) - valueBytes)
	return values[at : at+valueBytes]
}

// setRow sets the cells of a row of a family.
func setRow(m *write.Mutation, family string, row int) {
	for q, name := range qualifiers {
		m.SetAt(family, name, timestamp(row), cells.Bytes(value(row*cellsPerRow+q)))
	}
}

// loadRows writes rows in batches.
func loadRows(ctx context.Context, t *query.Table, rows int, key func(row int) string, set func(m *write.Mutation, row int)) error {
	const atOnce = 1000
	for at := 0; at < rows; at += atOnce {
		var keys []string
		var ms []*write.Mutation
		for row := at; row < min(at+atOnce, rows); row++ {
			m := write.NewMutation()
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

// plain returns the dataset with one family f.
func (e *Env) plain(ctx context.Context) (*dataset, error) {
	return e.dataset(ctx, "plain", e.rows(), []schema.Family{{Name: "f"}}, func(t *query.Table) error {
		return loadRows(ctx, t, e.rows(), rowKey, func(m *write.Mutation, row int) { setRow(m, "f", row) })
	})
}

// rows returns the number of rows of one family with all the cells.
func (e *Env) rows() int { return max(1, e.Cells/cellsPerRow) }

// someRows returns random rows of the dataset plain; rows may repeat.
func (e *Env) someRows(n int) []int {
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([]int, n)
	for i := range rows {
		rows[i] = rng.IntN(e.rows())
	}
	return rows
}

// rowPrefixes returns the prefixes of the rows' keys in the store.
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

// columnElements returns the qualifiers as elements of keys.
func columnElements(names ...string) (s yardstick.Slices) {
	for _, name := range names {
		s.Append(func(dst []byte) []byte { return cf.AppendQualifier(dst, name) })
	}
	return s
}
