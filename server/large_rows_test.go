package server_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// largeRows are rows with their numbers of cells and the sizes of the cells.
var largeRows = map[string][2]int{
	"fits/many": {40, 100_000},
	"fits/one":  {1, 4_100_000},
	"many":      {50, 100_000},
	"one10":     {1, 10_000_000},
	"one50":     {1, 50_000_000},
}

func (r *rig) largeRows() {
	r.t.Helper()
	table := r.table("t", "f")
	for key, row := range largeRows {
		m := bigtable.NewMutation()
		for i := range row[0] {
			m.Set("f", fmt.Sprintf("q%02d", i), 1000, bytes.Repeat([]byte{byte('a' + i)}, row[1]))
		}
		r.must(table.Apply(r.ctx(), key, m))
	}
}

// isLargeRow judges the cells that a client got for a row.
func isLargeRow(key string, cells [][]byte) error {
	want := largeRows[key]
	if len(cells) != want[0] {
		return fmt.Errorf("%s has %d cells, want %d", key, len(cells), want[0])
	}
	for i, value := range cells {
		if !bytes.Equal(value, bytes.Repeat([]byte{byte('a' + i)}, want[1])) {
			return fmt.Errorf("cell %d of %s has %d bytes that are not what was written", i, key, len(value))
		}
	}
	return nil
}

// A gRPC client that accepts at most 4 MiB in a message gets rows of any size.
func TestLargeRowsComeInSmallMessages(t *testing.T) {
	r := newRig(t)
	r.largeRows()
	for key := range largeRows {
		var cells [][]byte
		open := false
		for _, m := range r.read(&bigtablepb.ReadRowsRequest{TableName: tablePath("t"), Rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte(key)}}}) {
			for _, c := range m.GetChunks() {
				if !open {
					cells = append(cells, nil)
				}
				last := &cells[len(cells)-1]
				*last = append(*last, c.GetValue()...)
				open = c.GetValueSize() > 0
			}
		}
		r.must(isLargeRow(key, cells))
	}
}

// A row of up to 4 MiB comes in one message, since some clients decode each message
// for itself.
func TestARowThatFitsComesInOneMessage(t *testing.T) {
	r := newRig(t)
	r.largeRows()
	for _, m := range r.read(&bigtablepb.ReadRowsRequest{TableName: tablePath("t"), Rows: &bigtablepb.RowSet{
		RowKeys: [][]byte{[]byte("fits/many"), []byte("fits/one")}}}) {
		chunks := m.GetChunks()
		if len(chunks[0].GetRowKey()) == 0 || !chunks[len(chunks)-1].GetCommitRow() {
			t.Errorf("a message of %d bytes begins or ends within a row", proto.Size(m))
		}
	}
}

// With $BIGTABLE_EMULATOR_HOST, Bigtable's Go client accepts messages of up to 4 MiB,
// and no message of ReadRows that ends within a row. So reading a larger row fails at
// once. The client can read the row in parts, or as a whole by SQL.
func TestLargeRowsOnAnEmulatorHost(t *testing.T) {
	r := newRig(t)
	r.largeRows()
	t.Setenv("BIGTABLE_EMULATOR_HOST", r.addr)
	client, err := bigtable.NewClient(r.ctx(), project, instance)
	r.must(err)
	defer client.Close()
	table := client.Open("t")
	items := func(row bigtable.Row) (cells [][]byte) {
		for _, item := range row["f"] {
			cells = append(cells, item.Value)
		}
		return cells
	}
	for key := range largeRows {
		row, err := table.ReadRow(r.ctx(), key)
		if strings.HasPrefix(key, "fits") {
			r.must(err)
			r.must(isLargeRow(key, items(row)))
			continue
		}
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "larger than max") {
			t.Errorf("%s: %v", key, err)
		}
	}

	var parts [][]byte
	for i := range 5 {
		part := bigtable.ChainFilters(bigtable.CellsPerRowOffsetFilter(10*i), bigtable.CellsPerRowLimitFilter(10))
		if i == 0 {
			part = bigtable.CellsPerRowLimitFilter(10)
		}
		row, err := table.ReadRow(r.ctx(), "many", bigtable.RowFilter(part))
		r.must(err)
		parts = append(parts, items(row)...)
	}
	r.must(isLargeRow("many", parts))

	prepared, err := client.PrepareStatement(r.ctx(), "SELECT _key, f FROM t", nil)
	r.must(err)
	bound, err := prepared.Bind(nil)
	r.must(err)
	n := 0
	r.must(bound.Execute(r.ctx(), func(row bigtable.ResultRow) bool {
		var key []byte
		var family map[string][]byte
		r.must(row.GetByIndex(0, &key))
		r.must(row.GetByIndex(1, &family))
		cells := make([][]byte, len(family))
		for i := range cells {
			cells[i] = family[base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "q%02d", i))]
		}
		r.must(isLargeRow(string(key), cells))
		n++
		return true
	}))
	if n != len(largeRows) {
		t.Errorf("%d rows by SQL, want %d", n, len(largeRows))
	}
}
