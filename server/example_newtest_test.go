package server_test

import (
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// The test on docs/start-emulator.md: a cell that is a day old is invisible in a family
// that keeps a day.
func TestACellOfYesterdayIsGone(t *testing.T) {
	s := server.NewTest(t, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta", GC: schema.MaxAge(24 * time.Hour)}}})
	client, err := bigtable.NewClient(t.Context(), s.Project, s.Instance, option.WithGRPCConn(s.Conn))
	if err != nil {
		t.Fatal(err)
	}
	fleet := client.Open("fleet")

	s.Freeze(time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC))
	m := bigtable.NewMutation()
	m.Set("meta", "model", bigtable.ServerTime, []byte("757"))
	if err := fleet.Apply(t.Context(), "plane#TF-FIR", m); err != nil {
		t.Fatal(err)
	}

	s.Advance(25 * time.Hour)
	row, err := fleet.ReadRow(t.Context(), "plane#TF-FIR")
	if err != nil || len(row) != 0 {
		t.Errorf("after a day: %v, %v", row, err)
	}
}
